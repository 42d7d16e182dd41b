package client

import "mayfly/cmd/mayfly/cli"

func describeEntities() cli.Command {
	return cli.Command{
		Name: "entities", Summary: "List, show, create, update and delete queues, topics and subscriptions.", Flags: &entitiesCommand{}, ExitCodes: exitCodes(cli.ExitEmpty),
		Detail: "A subscription's path is topic/Subscriptions/name. Properties have Service Bus' names, such as LockDuration=PT30S, MaxDeliveryCount=5 and RequiresSession=true; entities show lists all of them.",
		Examples: []cli.Example{
			{Line: "mayfly entities", Text: "List all entities with their message counts."},
			{Line: "mayfly entities list has:dlq kind:queue orders", Text: "List queues that have dead letters and \"orders\" in their path."},
			{Line: "mayfly entities list 'expiring:<5m'", Text: "List entities with messages that expire within five minutes."},
			{Line: "mayfly entities list -- -has:messages", Text: "List entities without messages."},
			{Line: "mayfly entities show orders", Text: "Show a queue's message counts and properties."},
			{Line: "mayfly entities create queue orders LockDuration=PT30S DeadLetteringOnMessageExpiration=true", Text: "Create a queue that locks messages for 30 seconds and keeps expired messages as dead letters."},
			{Line: `mayfly entities create subscription prices/Subscriptions/dear --filter "price > 100"`, Text: "Create a subscription for messages with a price above 100."},
			{Line: `mayfly entities create subscription prices/Subscriptions/some --rule "dear=price > 100" --correlation 'eu={"Properties":{"region":"eu"}}'`, Text: "Create a subscription with two rules, one with a SQL filter and one with a correlation filter."},
			{Line: "mayfly entities update orders DefaultMessageTimeToLive=PT1H --dry-run", Text: "Count the messages that would expire, without changing anything."},
			{Line: "mayfly entities delete orders", Text: "Delete a queue and its messages, after confirmation."},
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
