"""Leads to the server by the service's own name: kombu's URL takes no other host
and no port. To be imported before the SDK."""

import os
import socket

import certifi
import harness

NAME = "celery.servicebus.windows.net"
BROKER = "azureservicebus://RootManageSharedAccessKey:SAS_KEY_VALUE@celery"

find = socket.getaddrinfo


def getaddrinfo(host, port, *args, **kwargs):
    if host == NAME:
        host, port = harness.HOST, int(port) if int(port) == 5671 else int(harness.HTTPS.rsplit(":", 1)[1])
    return find(host, port, *args, **kwargs)


socket.getaddrinfo = getaddrinfo
certifi.where = lambda: harness.CA
os.environ["REQUESTS_CA_BUNDLE"] = harness.CA
