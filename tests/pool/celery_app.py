"""The Celery application of a test, which its workers load; the environment says where Redis and the store are."""

from __future__ import annotations

import os

from celery import Celery

from planaria.pool.celery import CeleryEngine

app = Celery("pool", broker=os.environ["TEST_REDIS"], backend=os.environ["TEST_REDIS"])
app.conf.broker_transport_options = {"visibility_timeout": 5}
engine = CeleryEngine(app, store=os.environ["TEST_STORE"], callbacks="pool_callbacks:registry")
