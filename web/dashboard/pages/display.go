package pages

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/dashboard/recent"
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

// KindOnPage converts a kind of entity for package page.
func KindOnPage(k engine.EntityKind) page.EntityKind {
	switch k {
	case engine.Topic:
		return page.Topic
	case engine.Subscription:
		return page.Subscription
	default:
		return page.Queue
	}
}

// InputDuration formats a duration as forms read it, in every language: 1m30s, 7d, never. It is
// for the values of fields and for durations that the text beside a field asks the user to type.
// Other durations on pages are formatted by component.Length.
func InputDuration(d time.Duration) string {
	const day = 24 * time.Hour
	switch days := strconv.FormatInt(int64(d/day), 10) + "d"; {
	case d <= 0:
		return "never"
	case d < day:
		return FormatDuration(d)
	case d%day == 0:
		return days
	default:
		return days + FormatDuration(d%day)
	}
}

// RemoveSpaces removes spaces, so that users can write 1h 30m for a duration.
func RemoveSpaces(text string) string { return strings.Join(strings.Fields(text), "") }

// KeyText formats a key for addresses.
func KeyText(k engine.Key) string { return strconv.FormatUint(uint64(k), 10) }

// PlainText returns s as text without emphasis.
func PlainText(s string) component.Text { return component.Text{S: s} }

// StrongText returns s as emphasized text.
func StrongText(s string) component.Text { return component.Text{S: s, Strong: true} }

// SentenceAround returns a sentence that contains the piece `it`, such as a link or a countdown,
// where the text with the given id has {{.It}}.
func SentenceAround(ctx context.Context, id string, it component.Text, args locale.Args) []component.Text {
	const place = "\x00"
	all := locale.Args{"It": place}
	maps.Copy(all, args)
	before, after, _ := strings.Cut(locale.T(ctx, id, all), place)
	return []component.Text{PlainText(before), it, PlainText(after)}
}

// ActorName returns the name of an actor, or "" for the broker itself.
func ActorName(ctx context.Context, actor string) string {
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

// ActorProtocol returns the protocol that an actor used, and its name or address: "REST" and
// "10.0.0.7". If the protocol is unknown, it returns "" and the result of ActorName.
func ActorProtocol(ctx context.Context, actor string) (protocol, who string) {
	name, rest, _ := strings.Cut(actor, " ")
	switch name {
	case "dashboard":
		if rest == "" {
			return "", ActorName(ctx, actor)
		}
		return locale.T(ctx, "door.dashboard"), shorten.To(rest, 60)
	case "REST":
		return "REST", shorten.To(rest, 60)
	case "AMQP":
		return "AMQP", shorten.To(rest, 60)
	case "API":
		return "API", shorten.To(rest, 60)
	default:
		return "", ActorName(ctx, actor)
	}
}

// Destination returns where a resubmitted dead letter goes: to the entity where it was
// dead-lettered, or, from a transfer subqueue, to its forwarding target.
func Destination(r engine.Row) engine.Path {
	if r.Path.IsTransfer() && r.Message.Extra != nil {
		return engine.Path(r.Message.Extra.To)
	}
	return r.Path.Entity()
}

// MessageNames returns the names of messages, with their sequence numbers.
func MessageNames(rows []engine.Row) (out []string) {
	for _, r := range rows {
		name, number := recent.ShortName(r.Content, r.Message.Seq), "#"+strconv.FormatInt(int64(r.Message.Seq), 10)
		if name != number { // several messages may have the same name
			name += " " + number
		}
		out = append(out, name)
	}
	return out
}

// OneOf returns `s` if it is one of `words`, else "".
func OneOf(s string, words ...string) string {
	if slices.Contains(words, s) {
		return s
	}
	return ""
}

// SecondaryID returns the message id, unless it is already shown as the name.
func SecondaryID(c engine.Packed) string {
	if c.Subject() == "" {
		return ""
	}
	return shorten.To(c.MessageID(), 80)
}

// FatesText says how many of several messages are dead-lettered and how many are lost.
func FatesText(ctx context.Context, dead, lost int) string {
	switch {
	case lost == 0:
		return locale.N(ctx, "fates.dead", dead)
	case dead == 0:
		return locale.N(ctx, "fates.lost", lost)
	default:
		return locale.N(ctx, "fates.both", lost, locale.Args{"Dead": locale.Number(ctx, dead)})
	}
}

// QuoteShell returns s quoted as one word of a shell. It writes invisible characters as
// escaped bytes in $'…', which bash, zsh, ksh and POSIX.1-2024 shells understand.
func QuoteShell(s string) string {
	if component.Copyable(s) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case component.IsInvisible(r):
			for _, unit := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "'"
}

// ToSentence returns s with a capital first letter and a full stop.
func ToSentence(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// FormatDuration formats a duration as a user would type it: 1m30s, 2h.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// AllowsSend reports whether an entity with status s accepts messages.
func AllowsSend(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusReceiveDisabled
}

// AllowsReceive reports whether an entity with status s delivers messages.
func AllowsReceive(s engine.Status) bool {
	return s == engine.StatusActive || s == engine.StatusSendDisabled
}
