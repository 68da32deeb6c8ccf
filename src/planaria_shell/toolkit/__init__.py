"""What commands share: options, streams, lines, quoting, sizes."""
