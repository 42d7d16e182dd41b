package main

func describeEntities() description {
	return description{
		name: "entities", summary: "List, show, create, update and delete queues, topics and subscriptions.", command: &entitiesCommand{}, ends: clientEnds(exitEmpty),
		detail: "A subscription's path is topic/Subscriptions/name. Properties have Service Bus' names, such as LockDuration=PT30S, MaxDeliveryCount=5 and RequiresSession=true; entities show lists those that there are.",
		examples: []example{
			{"mayfly entities", "Lists all, with the numbers of their messages."},
			{"mayfly entities list has:dlq kind:queue orders", "Lists queues with dead letters whose path has orders in it."},
			{"mayfly entities list 'expiring:<5m'", "Lists those with messages that run out in less than five minutes."},
			{"mayfly entities list -- -has:messages", "Lists those that are empty."},
			{"mayfly entities create queue orders LockDuration=PT30S DeadLetteringOnMessageExpiration=true", "Makes a queue."},
			{`mayfly entities create subscription prices/Subscriptions/dear --filter "price > 100"`, "Makes a subscription that takes what costs more."},
			{"mayfly entities update orders DefaultMessageTimeToLive=PT1H --dry-run", "Tells which messages would run out, and changes nothing."},
			{"mayfly entities delete orders", "Asks, and deletes the queue with its messages."},
		},
	}
}

// entitiesCommand is what can be done with entities.
type entitiesCommand struct {
	List   entitiesListCommand   `cmd:"" default:"withargs" help:"List them. This is what happens without a word."`
	Show   entitiesShowCommand   `cmd:"" help:"Show one with its properties and rules."`
	Create entitiesCreateCommand `cmd:"" help:"Create one."`
	Update entitiesUpdateCommand `cmd:"" help:"Change properties of one, and leave the others."`
	Delete entitiesDeleteCommand `cmd:"" help:"Delete one with everything in it, after asking."`
}
