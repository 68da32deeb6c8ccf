"""A Jupyter kernel whose cells run in a sandbox: `planaria jupyter install`.

It needs the extra `planaria[jupyter]`.
"""
