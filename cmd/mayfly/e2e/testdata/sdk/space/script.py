# What a client finds in the namespaces that the first label of its host names. The
# names lead to this machine, as systemd-resolved has it.
import os
import socket

from azure.servicebus import ServiceBusClient, ServiceBusMessage

resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, *more, **named: resolve("127.0.0.1" if str(host).endswith(".localhost") else host, *more, **named)


def client(name):
    text = os.environ["SERVICEBUS"].replace("sb://127.0.0.1", "sb://" + name)
    return ServiceBusClient.from_connection_string(text, retry_total=0)


with client("shop.localhost") as shop:
    with shop.get_queue_sender("orders") as sender:
        sender.send_messages(ServiceBusMessage("theirs"))
for name in ["till.localhost", "localhost", "SHOP.localhost", "none.localhost"]:
    with client(name) as c:
        try:
            with c.get_queue_receiver("orders") as receiver:
                got = receiver.receive_messages(max_wait_time=3 if name == "SHOP.localhost" else 1)
                for m in got:
                    receiver.complete_message(m)
                print(name, [str(m) for m in got])
        except Exception as e:
            print(name, "refused:", "The namespace 'none' does not exist." in str(e), flush=True)
