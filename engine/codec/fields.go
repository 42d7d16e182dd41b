package codec

import "mayfly/engine"

// This file defines the tags of fields, once for writing and reading. Tags increase from line to
// line. A new field is added at the end, with the next free tag. The tag of a removed field is
// never used again.

func clock(c *coder, v *engine.Clock) {
	number(c, 1, &v.Now)
}

func entity(c *coder, v *engine.Entity) {
	number(c, 1, &v.ID)
	number(c, 2, &v.DeadLetterID)
	number(c, 3, &v.Kind)
	text(c, 4, &v.Path)
	if f, ok := c.open(5, !v.Config.Equal(engine.Config{})); ok {
		config(c, &v.Config)
		c.close(f)
	}
	number(c, 6, &v.CreatedAt)
	number(c, 7, &v.UpdatedAt)
	number(c, 8, &v.UnpinnedIdle)
	number(c, 9, &v.TransferID)
}

func config(c *coder, v *engine.Config) {
	number(c, 1, &v.LockDuration)
	number(c, 2, &v.MaxSizeInMegabytes)
	number(c, 3, &v.MaxMessageSizeInKilobytes)
	number(c, 4, &v.DefaultMessageTimeToLive)
	number(c, 5, &v.AutoDeleteOnIdle)
	number(c, 6, &v.DuplicateDetectionHistoryTimeWindow)
	number(c, 7, &v.MaxDeliveryCount)
	number(c, 8, &v.Status)
	flag(c, 9, &v.DeadLetteringOnMessageExpiration)
	flag(c, 10, &v.IgnoreFilterExceptions)
	flag(c, 11, &v.UnbatchedOperations)
	flag(c, 12, &v.EnableExpress)
	flag(c, 13, &v.SupportOrdering)
	flag(c, 14, &v.RequiresDuplicateDetection)
	flag(c, 15, &v.RequiresSession)
	text(c, 16, &v.ForwardTo)
	text(c, 17, &v.ForwardDeadLetteredMessagesTo)
	text(c, 18, &v.UserMetadata)
	list(c, 19, &v.AuthorizationRules, accessRule)
	text(c, 20, &v.ForwardToAddress)
	text(c, 21, &v.ForwardDeadLetteredMessagesToAddress)
	flag(c, 22, &v.EnablePartitioning)
	flag(c, 23, &v.UnorderedTopic)
}

func accessRule(c *coder, v *engine.AccessRule) {
	text(c, 1, &v.Name)
	number(c, 2, &v.Rights)
	text(c, 3, &v.PrimaryKey)
	text(c, 4, &v.SecondaryKey)
	number(c, 5, &v.CreatedAt)
	number(c, 6, &v.UpdatedAt)
}

func access(c *coder, v *engine.Access) {
	list(c, 1, &v.Rules, accessRule)
}

func setting(c *coder, v *engine.Setting) {
	text(c, 1, &v.Key)
	text(c, 2, &v.Value)
	number(c, 3, &v.ChangedAt)
}

func rule(c *coder, v *engine.Rule) {
	number(c, 1, &v.Subscription)
	text(c, 2, &v.Name)
	number(c, 3, &v.Filter.Kind)
	text(c, 4, &v.Filter.Text)
	text(c, 5, &v.Action)
	number(c, 6, &v.CreatedAt)
	properties(c, 7, &v.Filter.Parameters)
}

func meter(c *coder, v *engine.Meter) {
	number(c, 1, &v.Subqueue)
	number(c, 2, &v.NextSeq)
	number(c, 3, &v.LastUsed)
	number(c, 4, &v.AccessedAt)
	number(c, 5, &v.Duplicates)
}

func session(c *coder, v *engine.SessionRecord) {
	number(c, 1, &v.Subqueue)
	text(c, 2, &v.ID)
	text(c, 3, &v.State)
	number(c, 4, &v.ChangedAt)
}

func sessionID(c *coder, v *engine.SessionID) {
	number(c, 1, &v.Subqueue)
	text(c, 2, &v.ID)
}

func seen(c *coder, v *engine.SeenIDs) {
	number(c, 1, &v.Subqueue)
	number(c, 2, &v.N)
	number(c, 3, &v.At)
	digests(c, 4, &v.Digests)
}

func seenThrough(c *coder, v *engine.SeenIDsThrough) {
	number(c, 1, &v.Subqueue)
	number(c, 2, &v.N)
}

func content(c *coder, v *engine.StoredContent) {
	number(c, 1, &v.Key)
	text(c, 2, &v.Content)
}

// message codes Content and EnqueuedSeq as differences, which are zero for most messages.
func message(c *coder, v *engine.Message) {
	number(c, 1, &v.Key)
	difference(c, 2, &v.Content, v.Key)
	number(c, 3, &v.Subqueue)
	number(c, 4, &v.Seq)
	difference(c, 5, &v.EnqueuedSeq, v.Seq)
	number(c, 6, &v.EnqueuedAt)
	number(c, 7, &v.ExpiresAt)
	number(c, 8, &v.ScheduledFor)
	number(c, 9, &v.LockedUntil)
	number(c, 10, &v.Nonce)
	number(c, 11, &v.DeliveryCount)
	number(c, 12, &v.State)
	if f, ok := c.open(13, v.Extra != nil); ok {
		extra(c, ensure(&v.Extra))
		c.close(f)
	}
	number(c, 14, &v.Hops)
}

func extra(c *coder, v *engine.Extra) {
	flag(c, 1, &v.DeadLettered)
	text(c, 2, &v.Reason)
	text(c, 3, &v.Description)
	text(c, 4, &v.Source)
	number(c, 5, &v.DeadAt)
	number(c, 6, &v.DeferredAt)
	text(c, 7, &v.By)
	properties(c, 8, &v.Properties)
	text(c, 9, &v.Rewritten)
	flag(c, 10, &v.NeverForwarded)
	text(c, 11, &v.To)
}

func body(c *coder, v *engine.Body) {
	number(c, 1, &v.Key)
	octets(c, 2, &v.Bytes)
}

func ruleID(c *coder, v *engine.RuleID) {
	number(c, 1, &v.Subscription)
	text(c, 2, &v.Name)
}

func droppedContent(c *coder, v *engine.DroppedContent) {
	number(c, 1, &v.Key)
	flag(c, 2, &v.HasBody)
}

func batch(c *coder, v *engine.Batch) {
	flag(c, 1, &v.Hard)
	number(c, 2, &v.Now)
	list(c, 3, &v.Entities, entity)
	list(c, 4, &v.Rules, rule)
	list(c, 5, &v.Meters, meter)
	list(c, 6, &v.Messages, message)
	list(c, 7, &v.Contents, content)
	list(c, 8, &v.Bodies, body)
	numbers(c, 9, &v.DropSubqueues)
	list(c, 10, &v.DropRules, ruleID)
	numbers(c, 11, &v.DropMessages)
	list(c, 12, &v.DropContents, droppedContent)
	list(c, 13, &v.Audit, event)
	list(c, 14, &v.Sessions, session)
	list(c, 15, &v.Seen, seen)
	list(c, 16, &v.DropSessions, sessionID)
	list(c, 17, &v.DropSeen, seenThrough)
	if f, ok := c.open(18, v.Access != nil); ok {
		access(c, ensure(&v.Access))
		c.close(f)
	}
	list(c, 19, &v.Settings, setting)
	texts(c, 20, &v.DropSettings)
	numbers(c, 21, &v.SetAside)
	number(c, 22, &v.Added)
}

func event(c *coder, v *engine.Event) {
	number(c, 1, &v.N)
	number(c, 2, &v.Kind)
	number(c, 3, &v.At)
	number(c, 4, &v.Subqueue)
	text(c, 5, &v.Path)
	text(c, 6, &v.To)
	text(c, 7, &v.Actor)
	text(c, 8, &v.Reason)
	number(c, 9, &v.Count)
	flag(c, 10, &v.Audit)
	if f, ok := c.open(11, v.Message != engine.Message{}); ok {
		message(c, &v.Message)
		c.close(f)
	}
	text(c, 12, &v.Content)
	if f, ok := c.open(13, v.Entity != nil); ok {
		entity(c, ensure(&v.Entity))
		c.close(f)
	}
	list(c, 14, &v.Rules, rule)
	list(c, 15, &v.Subscriptions, entity)
	text(c, 16, &v.Session)
}
