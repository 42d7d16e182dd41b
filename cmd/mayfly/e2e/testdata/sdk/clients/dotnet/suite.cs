#:package Azure.Messaging.ServiceBus@7.21.0
// Azure.Messaging.ServiceBus 7.21.0: what part A of issue 24 describes, and its number 17.
using System.Reflection;
using System.Transactions;
using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;

var cases = new List<(string Name, Func<Task> Run)>();
void Test(string name, Func<Task> run) => cases.Add((name, run));

string Connection(string address) => $"Endpoint=sb://{address};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;";
var admin = new ServiceBusAdministrationClient(Connection(new Uri(Environment.GetEnvironmentVariable("SB_ADMIN")).Authority));
await using var client = new ServiceBusClient(Connection(Environment.GetEnvironmentVariable("SB_AMQP")), new ServiceBusClientOptions { RetryOptions = { MaxRetries = 0, TryTimeout = TimeSpan.FromSeconds(15) } });

var wait = TimeSpan.FromSeconds(15);
var moment = TimeSpan.FromMilliseconds(400);

async Task<string> Queue(string name, Action<CreateQueueOptions> set = null)
{
    var options = new CreateQueueOptions(name);
    set?.Invoke(options);
    await admin.CreateQueueAsync(options);
    return name;
}

static void Equal<T>(T got, T want)
{
    if (!EqualityComparer<T>.Default.Equals(got, want)) throw new Exception($"got {Show(got)}, want {Show(want)}");
    static string Show(object o) => o is DateTime d ? d.ToString("O") : $"{o} ({o?.GetType().Name})";
}

static async Task<E> Raises<E>(Func<Task> run) where E : Exception
{
    try { await run(); }
    catch (E e) { return e; }
    throw new Exception($"no {typeof(E).Name}");
}

async Task Send(string queue, params ServiceBusMessage[] messages)
{
    await using var sender = client.CreateSender(queue);
    await sender.SendMessagesAsync(messages);
}

async Task<ServiceBusReceivedMessage> Take(ServiceBusReceiver receiver) => await receiver.ReceiveMessageAsync(wait) ?? throw new Exception("nothing came");

Test("purging a session leaves the others", async () => // number 1
{
    var queue = await Queue("purging", o => o.RequiresSession = true);
    foreach (var (session, n) in new[] { ("one", 10), ("two", 5) })
        await Send(queue, Enumerable.Range(0, n).Select(_ => new ServiceBusMessage("m") { SessionId = session }).ToArray());
    await using var one = await client.AcceptSessionAsync(queue, "one");
    var delete = typeof(ServiceBusReceiver).GetMethods(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
        .First(m => m.Name == "DeleteMessagesAsync" && m.GetParameters().Length == 3); // not public in this version
    Equal(await (Task<int>)delete.Invoke(one, [100, (DateTimeOffset?)DateTimeOffset.UtcNow.AddSeconds(1), CancellationToken.None]), 10);
    await using var two = await client.AcceptSessionAsync(queue, "two");
    Equal((await two.PeekMessagesAsync(100)).Count(m => m.SessionId == "two"), 5);
});

Test("names may end in - _ . ~", async () => // number 2
{
    foreach (var name in new[] { "Shop/Fault--Orders/Placed--", "batch__", "a.", "b~" })
    {
        var end = "x" + name[^1];
        await admin.CreateTopicAsync(name);
        await admin.CreateSubscriptionAsync(name, end);
        await admin.CreateRuleAsync(name, end, new CreateRuleOptions(end, new TrueRuleFilter()));
        Equal((await admin.GetRuleAsync(name, end, end)).Value.Name, end);
        await Send(name, new ServiceBusMessage("m"));
        Equal((await Take(client.CreateReceiver(name, end))).Body.ToString(), "m");
    }
});

foreach (var sessions in new[] { false, true })
    Test($"complete, roll back, complete again{(sessions ? " in a session" : "")}", async () => // number 3
    {
        var queue = await Queue("rollback" + sessions, o => o.RequiresSession = sessions);
        await Send(queue, new ServiceBusMessage("m") { SessionId = sessions ? "s" : null });
        await using ServiceBusReceiver receiver = sessions ? await client.AcceptSessionAsync(queue, "s") : client.CreateReceiver(queue);
        var message = await Take(receiver);
        using (new TransactionScope(TransactionScopeAsyncFlowOption.Enabled)) await receiver.CompleteMessageAsync(message);
        await Task.Delay(moment);
        await receiver.CompleteMessageAsync(message);
        Equal(await receiver.PeekMessageAsync(0), null);
    });

Test("6,000 messages are unsettled at a time", async () => // number 4
{
    var queue = await Queue("unsettled", o => o.LockDuration = TimeSpan.FromMinutes(5));
    for (var i = 0; i < 6; i++) await Send(queue, Enumerable.Range(0, 1000).Select(_ => new ServiceBusMessage("m")).ToArray());
    var receiver = client.CreateReceiver(queue);
    var got = new HashSet<long>();
    while (got.Count < 6000)
    {
        var batch = await receiver.ReceiveMessagesAsync(6000 - got.Count, wait);
        if (batch.Count == 0) throw new Exception($"nothing more after {got.Count}");
        foreach (var m in batch) got.Add(m.SequenceNumber);
    }
});

Test("values of rules come back equal", async () => // number 5
{
    await admin.CreateTopicAsync("values");
    await admin.CreateSubscriptionAsync("values", "s");
    var values = new object[] { 12345678901L, 3L, 3, "x", true, 1.5, TimeSpan.FromDays(1), new DateTime(2026, 2, 3, 4, 5, 6, DateTimeKind.Utc).AddTicks(1234567) };
    for (var i = 0; i < values.Length; i++)
        await admin.CreateRuleAsync("values", "s", new CreateRuleOptions("r" + i, new CorrelationRuleFilter { ApplicationProperties = { ["v"] = values[i] } }));
    for (var i = 0; i < values.Length; i++)
        Equal(((CorrelationRuleFilter)(await admin.GetRuleAsync("values", "s", "r" + i)).Value.Filter).ApplicationProperties["v"], values[i]);
    var all = 0;
    await foreach (var rule in admin.GetRulesAsync("values", "s")) all++;
    Equal(all, values.Length + 1);
});

Test("a deferred message of a session is settled after renewals", async () => // number 6
{
    var queue = await Queue("deferred", o => { o.RequiresSession = true; o.LockDuration = TimeSpan.FromSeconds(8); });
    await Send(queue, new ServiceBusMessage("m") { SessionId = "s" });
    await using var receiver = await client.AcceptSessionAsync(queue, "s");
    var message = await Take(receiver);
    Equal(message.LockedUntil.Year, 9999);
    await receiver.DeferMessageAsync(message);
    var fetched = await receiver.ReceiveDeferredMessageAsync(message.SequenceNumber);
    Equal(fetched.LockedUntil.Year, 9999);
    for (var i = 0; i < 3; i++)
    {
        await Task.Delay(3000);
        await receiver.RenewSessionLockAsync();
    }
    await receiver.CompleteMessageAsync(fetched);
});

Test("a session receiver that idled past its lock is not deaf", async () => // number 7
{
    var queue = await Queue("idled", o => { o.RequiresSession = true; o.LockDuration = TimeSpan.FromSeconds(2); });
    await using var receiver = await client.AcceptSessionAsync(queue, "s");
    Equal(await receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(3)), null);
    await Send(queue, new ServiceBusMessage("m") { SessionId = "s" });
    try
    {
        for (var i = 0; i < 3 && !receiver.IsClosed; i++)
            if (await receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(4)) is { } got) { Equal(got.Body.ToString(), "m"); return; }
    }
    // It is told. The SDK says by the state it is in that its link was closed: the last where the next call finds it so.
    catch (ServiceBusException e) when (e.Reason == ServiceBusFailureReason.SessionLockLost || e.Message.Contains("is closed.")) { return; }
    catch (ObjectDisposedException) { return; }
    if (!receiver.IsClosed) throw new Exception("deaf for 12 s, and not closed");
});

Test("ten deferred messages of 200 KB come in one call", async () => // number 8
{
    var queue = await Queue("large");
    for (var i = 0; i < 10; i++) await Send(queue, new ServiceBusMessage(new byte[200_000]));
    var receiver = client.CreateReceiver(queue);
    var numbers = new List<long>();
    while (numbers.Count < 10)
    {
        var m = await Take(receiver);
        await receiver.DeferMessageAsync(m);
        numbers.Add(m.SequenceNumber);
    }
    var back = await receiver.ReceiveDeferredMessagesAsync(numbers);
    Equal(string.Join(",", back.Select(m => (m.SequenceNumber, m.Body.ToArray().Length))), string.Join(",", numbers.Select(n => (n, 200_000))));
});

Test("a decimal is a number", async () => // number 9
{
    await admin.CreateTopicAsync("decimals");
    await admin.CreateSubscriptionAsync(new CreateSubscriptionOptions("decimals", "s"), new CreateRuleOptions("r", new SqlRuleFilter("x > 4 AND x < 6")));
    await Send("decimals", new ServiceBusMessage("no") { ApplicationProperties = { ["x"] = 7m } }, new ServiceBusMessage("yes") { ApplicationProperties = { ["x"] = 5m } });
    var message = await Take(client.CreateReceiver("decimals", "s"));
    Equal(message.Body.ToString(), "yes");
    Equal(message.ApplicationProperties["x"], 5m);
});

Test("a link that is given up while it waits leaves its connection", async () => // number 10
{
    var queue = await Queue("waiting", o => o.RequiresSession = true);
    for (var i = 0; i < 5; i++)
    {
        using var soon = new CancellationTokenSource(TimeSpan.FromMilliseconds(100));
        await Raises<OperationCanceledException>(() => client.AcceptNextSessionAsync(queue, cancellationToken: soon.Token));
    }
    await Send(queue, new ServiceBusMessage("m") { SessionId = "s" });
    await using var next = await client.AcceptNextSessionAsync(queue);
    Equal((next.SessionId, (await Take(next)).Body.ToString()), ("s", "m"));
});

Test("cancelling a schedule is rolled back", async () => // number 17
{
    var queue = await Queue("schedule");
    var sender = client.CreateSender(queue);
    var number = await sender.ScheduleMessageAsync(new ServiceBusMessage("m"), DateTimeOffset.UtcNow.AddHours(1));
    using (new TransactionScope(TransactionScopeAsyncFlowOption.Enabled)) await sender.CancelScheduledMessageAsync(number);
    await Task.Delay(moment);
    Equal((await client.CreateReceiver(queue).PeekMessageAsync())?.SequenceNumber, number);
});

foreach (var partitions in new[] { false, true })
    Test($"two {(partitions ? "partition keys" : "queues")} in a transaction are refused", async () => // number 17
    {
        var a = await Queue("local" + partitions, o => o.EnablePartitioning = partitions);
        var b = partitions ? a : await Queue("other");
        using var scope = new TransactionScope(TransactionScopeAsyncFlowOption.Enabled);
        await client.CreateSender(a).SendMessageAsync(new ServiceBusMessage("m") { PartitionKey = partitions ? "1" : null });
        await Raises<InvalidOperationException>(() => client.CreateSender(b).SendMessageAsync(new ServiceBusMessage("m") { PartitionKey = partitions ? "2" : null }));
    });

var chosen = cases.Where(c => args.Length == 0 || args.Contains(c.Name)).ToList();
await Parallel.ForEachAsync(chosen, new ParallelOptions { MaxDegreeOfParallelism = 6 }, async (c, _) =>
{
    var watch = System.Diagnostics.Stopwatch.StartNew();
    string said;
    try
    {
        await c.Run();
        said = $"PASS {c.Name} {watch.ElapsedMilliseconds}ms";
    }
    catch (Exception e) { said = $"FAIL {c.Name}\n| {e.ToString().Replace("\n", "\n| ")}"; }
    lock (cases) Console.WriteLine(said);
});
Console.WriteLine($"DONE {chosen.Count}");
Environment.Exit(0);
