package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mayfly/engine/shorten"
)

// A Property is one property of an entity's description: its name, the values it accepts and
// their meaning. All protocols use this table, so that the form, the JSON API and Config.json
// accept the same values.
type Property struct {
	Name       string // Service Bus' name
	Type       PropertyType
	Kinds      []EntityKind // the kinds of entities that have it
	CreateOnly bool         // fixed once the entity exists (PROP-1)
	Default    string       // the documented default, as Text returns it; DefaultIn returns that of a profile
	Values     []string     // of a ChoiceProperty

	set    func(c *Config, l Limits, kind EntityKind, text string) error
	text   func(c Config) string
	bounds func(Limits) (least, most int64) // nil if none
}

// A PropertyType determines how a property's text is parsed.
type PropertyType uint8

// The types of properties.
const (
	DurationProperty PropertyType = iota + 1 // the forms of ParseDuration; never is allowed if it is the Default
	NumberProperty
	SwitchProperty // true or false
	ChoiceProperty // one of Values
	TextProperty
	EntityProperty // the path of another entity, or empty
)

// Properties returns the properties of entities of this kind, in the order of semantics §1.2. The
// caller must not change them.
func Properties(kind EntityKind) []Property { return propertiesByKind()[kind] }

// propertiesByKind returns the properties of each kind of entity.
var propertiesByKind = sync.OnceValue(func() map[EntityKind][]Property { //nolint:gochecknoglobals // built once, never changed
	all := map[EntityKind][]Property{}
	for _, p := range properties() {
		for _, kind := range p.Kinds {
			all[kind] = append(all[kind], p)
		}
	}
	return all
})

// LookupProperty returns a property by its name, in any case; it accepts aliases of older
// SDKs (CONF-13).
func LookupProperty(kind EntityKind, name string) (Property, bool) {
	if strings.EqualFold(name, "EnableDeadLetteringOnMessageExpiration") {
		name = "DeadLetteringOnMessageExpiration"
	}
	for _, p := range Properties(kind) {
		if strings.EqualFold(p.Name, name) {
			return p, true
		}
	}
	return Property{}, false
}

// Set parses text and sets the property in c. An empty text sets a zero field, which means the
// default; so does "never", if that is the default. The present value in c is always accepted, even
// if the limits l exclude it by now, unless it is the default. Errors are *PropertyError, and leave
// c as it was.
func (p Property) Set(c *Config, l Limits, kind EntityKind, text string) error {
	text = strings.TrimSpace(text)
	if err := p.set(c, l, kind, text); err != nil && !p.has(*c, kind, text) {
		return err
	}
	return nil
}

// has reports whether text is the present value of the property in c, whatever the limits, and not
// its default.
func (p Property) has(c Config, kind EntityKind, text string) bool {
	next, unbound := c, Limits{
		MaxDeliveries: math.MaxInt32, MinMegabytes: 1, MaxMegabytes: math.MaxInt64, MaxKilobytes: math.MaxInt64,
		NameLength: math.MaxInt64, UserMetadata: math.MaxInt64,
	}
	return p.Text(c) != p.Default && p.set(&next, unbound, kind, text) == nil && next.Equal(c)
}

// Text returns the property's value in c, in a form that Set accepts.
func (p Property) Text(c Config) string { return p.text(c) }

// DefaultIn returns the property's value for a zero field, as Text returns it.
func (p Property) DefaultIn(l Limits) string { return p.text(l.Defaults) }

// Bounds returns the least and the greatest value: of a number, in nanoseconds for a
// duration, in characters for a text. A greatest value of zero means no bound.
func (p Property) Bounds(l Limits) (least, most int64) {
	if p.bounds == nil {
		return 0, 0
	}
	return p.bounds(l)
}

// Never reports whether the property accepts "never".
func (p Property) Never() bool { return p.Default == MaxDurationText }

// properties returns the properties of all kinds, for propertiesByKind.
func properties() []Property {
	queue, topic, sub := Queue, Topic, Subscription
	all := []EntityKind{queue, topic, sub}
	return []Property{
		durationProperty("DefaultMessageTimeToLive", all, MaxDurationText,
			func(c *Config) *time.Duration { return &c.DefaultMessageTimeToLive },
			func(l Limits) (time.Duration, time.Duration) { return l.MinTTL, l.MaxTTL }),
		switchProperty("DeadLetteringOnMessageExpiration", []EntityKind{queue, sub}, false, func(c *Config) *bool { return &c.DeadLetteringOnMessageExpiration }),
		durationProperty("LockDuration", []EntityKind{queue, sub}, "PT1M",
			func(c *Config) *time.Duration { return &c.LockDuration },
			func(l Limits) (time.Duration, time.Duration) { return l.MinLock, l.MaxLock }),
		numberProperty("MaxDeliveryCount", []EntityKind{queue, sub}, 10,
			func(l Limits) (int64, int64) { return 1, min(l.MaxDeliveries, math.MaxInt32) },
			func(c *Config, n int64) { c.MaxDeliveryCount = int32(n) }, func(c Config) int64 { return int64(c.MaxDeliveries()) }),
		durationProperty("AutoDeleteOnIdle", all, MaxDurationText,
			func(c *Config) *time.Duration { return &c.AutoDeleteOnIdle },
			func(l Limits) (time.Duration, time.Duration) { return l.MinAutoDelete, 0 }),
		statusProperty(all),
		createOnly(switchProperty("RequiresSession", []EntityKind{queue, sub}, false, func(c *Config) *bool { return &c.RequiresSession })),
		createOnly(switchProperty("RequiresDuplicateDetection", []EntityKind{queue, topic}, false, func(c *Config) *bool { return &c.RequiresDuplicateDetection })),
		durationProperty("DuplicateDetectionHistoryTimeWindow", []EntityKind{queue, topic}, "PT10M",
			func(c *Config) *time.Duration { return &c.DuplicateDetectionHistoryTimeWindow },
			func(l Limits) (time.Duration, time.Duration) { return l.MinDuplicateWindow, l.MaxDuplicateWindow }),
		entityProperty("ForwardTo", []EntityKind{queue, sub}, func(c *Config) (path, address *string) { return &c.ForwardTo, &c.ForwardToAddress }),
		entityProperty("ForwardDeadLetteredMessagesTo", []EntityKind{queue, sub}, func(c *Config) (path, address *string) {
			return &c.ForwardDeadLetteredMessagesTo, &c.ForwardDeadLetteredMessagesToAddress
		}),
		invert(switchProperty("DeadLetteringOnFilterEvaluationExceptions", []EntityKind{sub}, true, func(c *Config) *bool { return &c.IgnoreFilterExceptions })),
		multiplesOnly(numberProperty("MaxSizeInMegabytes", []EntityKind{queue, topic}, 1024,
			func(l Limits) (int64, int64) { return max(1, l.MinMegabytes), min(l.MaxMegabytes, math.MaxInt64>>20) },
			func(c *Config, n int64) { c.MaxSizeInMegabytes = n }, Config.MaxMegabytes)),
		zeroAllowed(numberProperty("MaxMessageSizeInKilobytes", []EntityKind{queue, topic}, 0,
			kilobytes,
			func(c *Config, n int64) { c.MaxMessageSizeInKilobytes = n }, func(c Config) int64 { return c.MaxMessageSizeInKilobytes })),
		invert(switchProperty("EnableBatchedOperations", all, true, func(c *Config) *bool { return &c.UnbatchedOperations })),
		switchProperty("EnableExpress", []EntityKind{queue, topic}, false, func(c *Config) *bool { return &c.EnableExpress }),
		switchProperty("SupportOrdering", []EntityKind{queue}, false, func(c *Config) *bool { return &c.SupportOrdering }),
		invert(switchProperty("SupportOrdering", []EntityKind{topic}, true, func(c *Config) *bool { return &c.UnorderedTopic })),
		createOnly(switchProperty("EnablePartitioning", []EntityKind{queue, topic}, false, func(c *Config) *bool { return &c.EnablePartitioning })),
		metadataProperty(all),
	}
}

func createOnly(p Property) Property { p.CreateOnly = true; return p }

func (p Property) refuse(text string, kind error, format string, args ...any) error {
	return &PropertyError{Property: p.Name, Value: shorten.To(text, 64), Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func durationProperty(name string, kinds []EntityKind, def string, field func(*Config) *time.Duration, bounds func(Limits) (least, most time.Duration)) Property {
	p := Property{Name: name, Type: DurationProperty, Kinds: kinds, Default: def}
	p.bounds = func(l Limits) (int64, int64) {
		least, most := bounds(l)
		return int64(least), int64(most)
	}
	p.set = func(c *Config, l Limits, _ EntityKind, text string) error {
		if text == "" {
			*field(c) = 0
			return nil
		}
		d, never, err := ParseDuration(text)
		if err != nil {
			return p.refuse(text, ErrArgument, "%s", DurationErrorText(name, text))
		}
		least, most := bounds(l)
		if never && p.Never() && most == 0 {
			if *field(c) = 0; *field(&l.Defaults) != 0 {
				*field(c) = MaxDuration
			}
			return nil
		}
		if never || d < least || d == 0 || most > 0 && d > most { // a zero field means the default
			return p.refuse(text, ErrOutOfRange, "%s", boundsText(name, never, d, l, bounds))
		}
		*field(c) = d
		return nil
	}
	p.text = func(c Config) string {
		if d := *field(&c); d != 0 && d != MaxDuration {
			return FormatDuration(d)
		}
		return def
	}
	return p
}

// boundsText returns the error text for a duration d, or never, that is not within the bounds: where
// clients expect it, in the words of Service Bus (PROP-3, PROP-4).
func boundsText(name string, never bool, d time.Duration, l Limits, bounds func(Limits) (least, most time.Duration)) string {
	least, most := bounds(l)
	switch {
	case name == "LockDuration" && most > 0 && (never || d > most):
		return fmt.Sprintf("The supplied lock time exceeds the allowed maximum of '%g' minutes.", most.Minutes())
	case name == "DefaultMessageTimeToLive" && most > 0:
		return fmt.Sprintf("The property value for '%s' must be between %s and %s when the namespace '%s' is using '%s' tier.",
			name, clockText(least), clockText(most), l.title(), l.Tier)
	case most > 0:
		return fmt.Sprintf("The value for '%s' must be between %s and %s.", name, FormatDuration(least), FormatDuration(most))
	default:
		return fmt.Sprintf("The value for '%s' must be at least %s, or never.", name, FormatDuration(least))
	}
}

// clockText returns a duration as .NET writes it: 14.00:00:00, to the second.
func clockText(d time.Duration) string {
	const day = 24 * time.Hour
	text := fmt.Sprintf("%02d:%02d:%02d", d%day/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
	if d >= day {
		text = fmt.Sprintf("%d.%s", d/day, text)
	}
	return text
}

func switchProperty(name string, kinds []EntityKind, def bool, field func(*Config) *bool) Property {
	p := Property{Name: name, Type: SwitchProperty, Kinds: kinds, Default: strconv.FormatBool(def)}
	p.set = func(c *Config, _ Limits, _ EntityKind, text string) error {
		on := def
		if text != "" {
			var err error
			if on, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
				return p.refuse(text, ErrArgument, "The value for '%s' must be true or false.", name)
			}
		}
		*field(c) = on
		return nil
	}
	p.text = func(c Config) string { return strconv.FormatBool(*field(&c)) }
	return p
}

// invert makes a switch whose default is true store the opposite of its value, so that the zero
// field means the default.
func invert(p Property) Property {
	set, text := p.set, p.text
	p.set = func(c *Config, l Limits, k EntityKind, s string) error {
		if s == "" {
			s = "true"
		}
		b, err := strconv.ParseBool(strings.ToLower(s))
		if err != nil {
			return set(c, l, k, s)
		}
		return set(c, l, k, strconv.FormatBool(!b))
	}
	p.text = func(c Config) string { return strconv.FormatBool(text(c) == "false") }
	return p
}

func statusProperty(kinds []EntityKind) Property {
	p := Property{Name: "Status", Type: ChoiceProperty, Kinds: kinds, Default: "Active", Values: []string{"Active", "Disabled", "SendDisabled", "ReceiveDisabled"}}
	p.set = func(c *Config, _ Limits, kind EntityKind, text string) error {
		for s, name := range statusNames {
			if !strings.EqualFold(text, name) && (text != "" || s != StatusActive) {
				continue
			}
			if kind == Topic && s == StatusReceiveDisabled || kind == Subscription && s == StatusSendDisabled {
				return p.refuse(text, ErrArgument, "A %s cannot be %s.", kind, name)
			}
			c.Status = s
			return nil
		}
		return p.refuse(text, ErrArgument, "The value for 'Status' must be one of %s.", strings.Join(p.Values, ", "))
	}
	p.text = func(c Config) string { return c.Status.String() }
	return p
}

func metadataProperty(kinds []EntityKind) Property {
	p := Property{Name: "UserMetadata", Type: TextProperty, Kinds: kinds}
	p.bounds = func(l Limits) (int64, int64) { return 0, l.UserMetadata }
	p.set = func(c *Config, l Limits, _ EntityKind, text string) error {
		if n := int64(utf8.RuneCountInString(text)); n > l.UserMetadata {
			return p.refuse(text, ErrOutOfRange, "The value for 'UserMetadata' must have at most %d characters, not %d.", l.UserMetadata, n)
		}
		c.UserMetadata = text
		return nil
	}
	p.text = func(c Config) string { return c.UserMetadata }
	return p
}

// entityProperty is a property that accepts a path of this namespace, or an absolute URI with
// that path, which is stored as well. If the text is the present path, the stored path and URI do
// not change.
func entityProperty(name string, kinds []EntityKind, fields func(*Config) (path, address *string)) Property {
	p := Property{Name: name, Type: EntityProperty, Kinds: kinds}
	p.set = func(c *Config, l Limits, _ EntityKind, text string) error {
		at, address := fields(c)
		path, uri := text, ""
		if _, rest, ok := strings.Cut(text, "://"); ok {
			uri = text
			_, path, _ = strings.Cut(rest, "/")
			path = unescapePath(path)
		}
		switch {
		case text == *at && text != "":
			return nil
		case text != "":
			if err := checkDestination(path, l); err != nil {
				return p.refuse(text, ErrArgument, "The value for '%s' is not the path of a queue or topic: %v", name, err)
			}
			if len(uri) > maxAddressLength {
				return p.refuse(text, ErrArgument, "The value for '%s' has %d bytes; the maximum is %d.", name, len(uri), maxAddressLength)
			}
		}
		*at, *address = path, uri
		return nil
	}
	p.text = func(c Config) string { path, _ := fields(&c); return *path }
	return p
}

// unescapePath returns the path of a URI with its escapes, such as %2F, decoded. A
// percent sign without a valid escape stays; it is not allowed in names.
func unescapePath(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "%")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if len(after) < 2 {
			return b.String() + "%" + after
		}
		c, err := strconv.ParseUint(after[:2], 16, 8)
		if err != nil {
			b.WriteString("%" + after[:2])
		} else {
			b.WriteByte(byte(c))
		}
		s = after[2:]
	}
}

// maxAddressLength is the maximum length of a destination's absolute URI in bytes.
const maxAddressLength = 2048

func numberProperty(name string, kinds []EntityKind, def int64, bounds func(Limits) (least, most int64), set func(*Config, int64), get func(Config) int64) Property {
	p := Property{Name: name, Type: NumberProperty, Kinds: kinds, Default: strconv.FormatInt(def, 10), bounds: bounds}
	p.set = func(c *Config, l Limits, _ EntityKind, text string) error {
		if text == "" {
			set(c, 0)
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return p.refuse(text, ErrArgument, "The value for '%s' must be a whole number.", name)
		}
		if least, most := bounds(l); n < least || n > most {
			return p.refuse(text, ErrOutOfRange, "The value for '%s' must be between %d and %d.", name, least, most)
		}
		set(c, n)
		return nil
	}
	p.text = func(c Config) string { return strconv.FormatInt(get(c), 10) }
	return p
}

// multiplesOnly makes a property accept only multiples of the least value (§1.2).
func multiplesOnly(p Property) Property {
	set := p.set
	p.set = func(c *Config, l Limits, k EntityKind, text string) error {
		next := *c
		if err := set(&next, l, k, text); err != nil {
			return err
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if least, most := p.bounds(l); n%least != 0 {
				return p.refuse(text, ErrOutOfRange, "The value for '%s' must be a multiple of %d, up to %d.", p.Name, least, most)
			}
		}
		*c = next
		return nil
	}
	return p
}

// kilobytes returns the bounds of MaxMessageSizeInKilobytes: both are its fixed value where
// it cannot be set.
func kilobytes(l Limits) (least, most int64) {
	if l.MaxKilobytes == 0 {
		return l.MessageSize >> 10, l.MessageSize >> 10
	}
	return max(1, l.MinKilobytes), min(l.MaxKilobytes, math.MaxInt64>>10)
}

// zeroAllowed makes a property also accept zero, for the namespace's message size. Where the
// property cannot be set, its fixed value is accepted as well and sets nothing: SDKs write
// back what they have read.
func zeroAllowed(p Property) Property {
	set := p.set
	p.set = func(c *Config, l Limits, k EntityKind, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return set(c, l, k, text)
		case n == 0 || l.MaxKilobytes == 0 && n == l.MessageSize>>10:
			return set(c, l, k, "")
		case l.MaxKilobytes == 0:
			return p.refuse(text, ErrOutOfRange, "The property '%s' cannot be set because the namespace '%s' is using '%s' tier, which limits messages to %d bytes.",
				p.Name, l.title(), l.Tier, l.MessageSize)
		default:
			return set(c, l, k, text)
		}
	}
	return p
}
