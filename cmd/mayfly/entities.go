package main

import "mayfly/cmd/mayfly/cli"

func describeEntities() cli.Command {
	return cli.Command{
		Name: "entities", Summary: "List, show, create, update and delete queues, topics and subscriptions.", Flags: &entitiesCommand{}, ExitCodes: clientExitCodes(cli.ExitEmpty),
		Detail: "A subscription's path is topic/Subscriptions/name. Properties have Service Bus' names, such as LockDuration=PT30S, MaxDeliveryCount=5 and RequiresSession=true; entities show lists those that there are.",
		Examples: []cli.Example{
			{Line: "mayfly entities", Text: "Lists all, with the numbers of their messages."},
			{Line: "mayfly entities list has:dlq kind:queue orders", Text: "Lists queues with dead letters whose path has orders in it."},
			{Line: "mayfly entities list 'expiring:<5m'", Text: "Lists those with messages that run out in less than five minutes."},
			{Line: "mayfly entities list -- -has:messages", Text: "Lists those that are empty."},
			{Line: "mayfly entities create queue orders LockDuration=PT30S DeadLetteringOnMessageExpiration=true", Text: "Makes a queue."},
			{Line: `mayfly entities create subscription prices/Subscriptions/dear --filter "price > 100"`, Text: "Makes a subscription that takes what costs more."},
			{Line: `mayfly entities create subscription prices/Subscriptions/some --rule "dear=price > 100" --correlation 'eu={"Properties":{"region":"eu"}}'`, Text: "Makes one with two rules by name."},
			{Line: "mayfly entities update orders DefaultMessageTimeToLive=PT1H --dry-run", Text: "Tells which messages would run out, and changes nothing."},
			{Line: "mayfly entities delete orders", Text: "Asks, and deletes the queue with its messages."},
		},
	}
}

// entitiesCommand groups the subcommands for entities.
type entitiesCommand struct {
	List   entitiesListCommand   `cmd:"" default:"withargs" help:"List entities (default)."`
	Show   entitiesShowCommand   `cmd:"" help:"Show an entity with its properties and rules."`
	Create entitiesCreateCommand `cmd:"" help:"Create an entity."`
	Update entitiesUpdateCommand `cmd:"" help:"Change some properties of an entity."`
	Delete entitiesDeleteCommand `cmd:"" help:"Delete an entity and all its messages. Asks first."`
}
