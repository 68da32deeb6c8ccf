"""LangChain: a middleware that executes Python in a session. Needs `planaria[langchain]`."""

from planaria.integrations.langchain.middleware import PlanariaMiddleware

__all__ = ["PlanariaMiddleware"]
