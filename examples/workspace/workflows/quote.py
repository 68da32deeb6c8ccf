"""What a customer pays for a product, and when it arrives."""

import asyncio


async def run(product: str, country: str, pieces: int = 1) -> dict:
    """What a customer pays for some pieces of a product, sent to a country, and when it arrives."""
    found = await tools.prices.product(name=product)
    cost, days, earlier = await asyncio.gather(
        tools.delivery.cost.call_async(country=country, kilograms=found["kilograms"] * pieces),
        tools.delivery.days.call_async(country=country),
        tools.journal.find.call_async(text=f"{product} to"),
    )
    return {
        "product": f"{pieces} × {found['name']}",
        "total": round(found["price"] * pieces + cost, 2),
        "days": f"{days['at least']} to {days['at most']}",
        "earlier": [line for line in earlier.splitlines() if f", {country}:" in line],
    }
