"""Sessions, shells and sandboxes without `await`, generated from `planaria.session._async` by
tools/generate_sync.py; only `turns` is written by hand.
"""
