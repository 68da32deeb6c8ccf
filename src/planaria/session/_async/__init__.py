"""Sessions, shells and sandboxes with `await`; `planaria.session._sync` is generated from these modules."""
