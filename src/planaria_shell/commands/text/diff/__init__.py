"""diff, diff3, sdiff and patch."""
