package show

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// Shown is a path as people read it: orders, prices/eu, orders/$DLQ.
func Shown(p engine.Path) string {
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

// KindWord is what a kind of entity is called.
func KindWord(ctx context.Context, k engine.EntityKind) string {
	switch k {
	case engine.Topic:
		return locale.T(ctx, "kind.topic")
	case engine.Subscription:
		return locale.T(ctx, "kind.subscription")
	default:
		return locale.T(ctx, "kind.queue")
	}
}

// pageKind is a kind of entity as pages know it.
func pageKind(k engine.EntityKind) page.Kind {
	switch k {
	case engine.Topic:
		return page.Topic
	case engine.Subscription:
		return page.Subscription
	default:
		return page.Queue
	}
}

// typedLength is a time somebody chose as forms read it, in every language: 1m30s, 7d,
// never. What stands beside a field about what goes into it says it so, too; what is
// only read has component.Length.
func typedLength(d time.Duration) string {
	const day = 24 * time.Hour
	switch days := strconv.FormatInt(int64(d/day), 10) + "d"; {
	case d <= 0:
		return "never"
	case d < day:
		return inWords(d)
	case d%day == 0:
		return days
	default:
		return days + inWords(d%day)
	}
}

// Spaceless lets people write 1h 30m where a duration is read.
func Spaceless(text string) string { return strings.Join(strings.Fields(text), "") }

func keyText(k engine.Key) string { return strconv.FormatUint(uint64(k), 10) }

func say(s string) component.Text { return component.Text{S: s} }

func strong(s string) component.Text { return component.Text{S: s, Strong: true} }

// tell is a sentence around a piece of its own, such as a link or a countdown:
// the text with the id has {{.It}} where the piece goes.
func tell(ctx context.Context, id string, it component.Text, args locale.Args) []component.Text {
	const place = "\x00"
	all := locale.Args{"It": place}
	maps.Copy(all, args)
	before, after, _ := strings.Cut(locale.T(ctx, id, all), place)
	return []component.Text{say(before), it, say(after)}
}

// hand is how an actor is named; the broker itself has no name.
func hand(ctx context.Context, actor string) string {
	if rule, is := strings.CutPrefix(actor, "rule "); is {
		return locale.T(ctx, "actor.rule", locale.Args{"Name": cut(rule, 60)})
	}
	switch actor {
	case "":
		return ""
	case "dashboard":
		return locale.T(ctx, "actor.dashboard")
	case "users file": // it was changed, and ended sessions
		return locale.T(ctx, "actor.users")
	default:
		return cut(actor, 60)
	}
}

// doorOf is through which door an actor came, and who it was: "REST" and an
// address. Without a door it is what the actor calls itself.
func doorOf(ctx context.Context, actor string) (door, who string) {
	name, rest, _ := strings.Cut(actor, " ")
	switch name {
	case "dashboard":
		if rest == "" {
			return "", hand(ctx, actor)
		}
		return locale.T(ctx, "door.dashboard"), cut(rest, 60)
	case "REST":
		return "REST", cut(rest, 60)
	case "AMQP":
		return "AMQP", cut(rest, 60)
	case "API":
		return "API", cut(rest, 60)
	default:
		return "", hand(ctx, actor)
	}
}
