# A message by AMQP with TLS, and the queues by HTTPS.
import os

from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.management import ServiceBusAdministrationClient

with ServiceBusClient.from_connection_string(os.environ["SERVICEBUS"], retry_total=0) as client:
    client.get_queue_sender("orders").send_messages(ServiceBusMessage("hello"))
    for message in client.get_queue_receiver("orders").receive_messages(max_wait_time=10):
        print(message)
with ServiceBusAdministrationClient.from_connection_string(os.environ["SERVICEBUS"], retry_total=0) as client:
    print(*[queue.name for queue in client.list_queues()])
