"""The event loops of the kernel, and asyncio.run on them."""
