"""Analyse sales.csv with pandas and matplotlib in a sandbox; the plot is saved as out/sales.png.

The analysis is a text, as a language model would write it: it runs in the sandbox and sees only the file
that is put there. What comes back are plain values, what it printed, and the figure.
"""

from pathlib import Path

import planaria

HERE = Path(__file__).parent
PLOT = Path("out") / "sales.png"

LOAD = """
import pandas as pd

sales = pd.read_csv("sales.csv", parse_dates=["date"])
sales["revenue"] = sales.units * sales.unit_price
table = sales.pivot_table("revenue", "product", "region", aggfunc="sum", margins=True, margins_name="all")
print(table.round().astype(int).to_string())
"""

DRAW = """
import matplotlib.pyplot as plt

monthly = sales.groupby([sales.date.dt.strftime("%m"), "region"]).revenue.sum().unstack()
axes = monthly.plot.bar(stacked=True, figsize=(9, 4.5), width=0.8)
axes.set(title="Revenue in 2024 by month and region", xlabel="month", ylabel="revenue")
"""

BEST_MONTH = "sales.groupby(sales.date.dt.month_name()).revenue.sum().agg(['idxmax', 'max']).to_dict()"

with planaria.Session() as session:
    session.files.copy_in(HERE / "sales.csv", "sales.csv")
    print(session.execute(LOAD).stdout)

    best = session.execute(BEST_MONTH).value  # a dict of the host's own Python
    print(f"The best month was {best['idxmax']}, with {best['max']:,.0f}.")

    (figure,) = [output for output in session.execute(DRAW).outputs if "image/png" in output.data]
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_bytes(figure.data["image/png"])
    print(f"The plot is in {PLOT}.")
