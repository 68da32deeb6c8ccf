"""yq: jq for YAML."""
