package show

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// DisplayPath returns a path for display: orders, prices/eu, orders/$DLQ.
func DisplayPath(p engine.Path) string {
	s := string(p.Entity())
	if topic, sub, ok := p.Subscription(); ok {
		s = topic + "/" + sub
	}
	switch {
	case p.IsTransfer():
		s += "/$Transfer/$DLQ"
	case p.IsDeadLetter():
		s += "/$DLQ"
	}
	return s
}

// KindName returns the name of a kind of entity.
func KindName(ctx context.Context, k engine.EntityKind) string {
	switch k {
	case engine.Topic:
		return locale.T(ctx, "kind.topic")
	case engine.Subscription:
		return locale.T(ctx, "kind.subscription")
	default:
		return locale.T(ctx, "kind.queue")
	}
}

// pageKind converts a kind of entity for package page.
func pageKind(k engine.EntityKind) page.EntityKind {
	switch k {
	case engine.Topic:
		return page.Topic
	case engine.Subscription:
		return page.Subscription
	default:
		return page.Queue
	}
}

// inputDuration formats a duration as forms read it, in every language: 1m30s, 7d, never. Texts
// beside a field use it for durations to type; durations that are only shown use
// component.Length.
func inputDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch days := strconv.FormatInt(int64(d/day), 10) + "d"; {
	case d <= 0:
		return "never"
	case d < day:
		return formatDuration(d)
	case d%day == 0:
		return days
	default:
		return days + formatDuration(d%day)
	}
}

// RemoveSpaces removes spaces, so that users can write 1h 30m for a duration.
func RemoveSpaces(text string) string { return strings.Join(strings.Fields(text), "") }

func keyText(k engine.Key) string { return strconv.FormatUint(uint64(k), 10) }

func plainText(s string) component.Text { return component.Text{S: s} }

func strongText(s string) component.Text { return component.Text{S: s, Strong: true} }

// sentenceAround returns a sentence around a piece of its own, such as a link or a countdown. The text
// with the id has {{.It}} in the piece's place.
func sentenceAround(ctx context.Context, id string, it component.Text, args locale.Args) []component.Text {
	const place = "\x00"
	all := locale.Args{"It": place}
	maps.Copy(all, args)
	before, after, _ := strings.Cut(locale.T(ctx, id, all), place)
	return []component.Text{plainText(before), it, plainText(after)}
}

// actorName returns the name of an actor, or "" for the broker itself.
func actorName(ctx context.Context, actor string) string {
	if rule, is := strings.CutPrefix(actor, "rule "); is {
		return locale.T(ctx, "actor.rule", locale.Args{"Name": shorten.To(rule, 60)})
	}
	switch actor {
	case "":
		return ""
	case "dashboard":
		return locale.T(ctx, "actor.dashboard")
	case "users file": // the file was changed, which ended sessions
		return locale.T(ctx, "actor.users")
	default:
		return shorten.To(actor, 60)
	}
}

// actorProtocol returns the protocol that an actor used and its name: "REST" and an address. Without
// a protocol, who is the name of the actor.
func actorProtocol(ctx context.Context, actor string) (door, who string) {
	name, rest, _ := strings.Cut(actor, " ")
	switch name {
	case "dashboard":
		if rest == "" {
			return "", actorName(ctx, actor)
		}
		return locale.T(ctx, "door.dashboard"), shorten.To(rest, 60)
	case "REST":
		return "REST", shorten.To(rest, 60)
	case "AMQP":
		return "AMQP", shorten.To(rest, 60)
	case "API":
		return "API", shorten.To(rest, 60)
	default:
		return "", actorName(ctx, actor)
	}
}
