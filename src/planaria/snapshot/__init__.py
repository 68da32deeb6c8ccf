"""Sessions as bytes: everything needed to go on elsewhere. The format is in
docs/internals/snapshot-format.md.
"""
