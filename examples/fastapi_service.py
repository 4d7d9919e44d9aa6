"""A web service that writes each order to a topic, and answers when the record is stored.

    KAFKA=localhost:9092 uvicorn --app-dir examples fastapi_service:app
    curl -X POST localhost:8000/orders -H 'Content-Type: application/json' \\
         -d '{"table": "table-7", "item": "espresso"}'
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

from pyk.clients import AsyncProducer, JsonSerializer, KafkaError


class Order(BaseModel):
    table: str
    item: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Keep one producer for all requests; leaving the block delivers its pending records."""
    async with AsyncProducer(
        os.environ.get("KAFKA", "localhost:9092"),
        client_id="orders-api",
        value_serializer=JsonSerializer(),
        linger_ms=0,  # the client waits for the response
        request_timeout_ms=3_000,
        delivery_timeout_ms=5_000,  # no user waits two minutes for a web page
        max_block_ms=5_000,
    ) as producer:
        app.state.producer = producer
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders", status_code=201)
async def place_order(order: Order, request: Request) -> dict[str, int]:
    producer: AsyncProducer[str, dict[str, str]] = request.app.state.producer
    try:
        stored = await producer.send_and_wait("orders", order.model_dump(), key=order.table)
    except KafkaError as error:
        outcome = "was not stored" if error.definite else "may have been stored"
        raise HTTPException(503, f"the order {outcome}, try again") from error
    return {"partition": stored.partition, "offset": stored.offset}
