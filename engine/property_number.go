package engine

import (
	"math"
	"strconv"
)

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

// inSteps has only multiples of the least value taken (§1.2).
func inSteps(p Property) Property {
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

// kilobytes are the bounds of MaxMessageSizeInKilobytes: where it cannot be set,
// what it is.
func kilobytes(l Limits) (least, most int64) {
	if l.MaxKilobytes == 0 {
		return l.MessageSize >> 10, l.MessageSize >> 10
	}
	return max(1, l.MinKilobytes), min(l.MaxKilobytes, math.MaxInt64>>10)
}

// orNamespaces has zero taken too, for the namespace's size of a message. Where
// nothing can be set, saying what that is sets nothing: SDKs write back what
// they have read.
func orNamespaces(p Property) Property {
	set := p.set
	p.set = func(c *Config, l Limits, k EntityKind, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return set(c, l, k, text)
		case n == 0 || l.MaxKilobytes == 0 && n == l.MessageSize>>10:
			return set(c, l, k, "")
		case l.MaxKilobytes == 0:
			return p.refuse(text, ErrOutOfRange, "The property '%s' cannot be set because the namespace '%s' is using '%s' tier, whose messages have at most %d bytes.",
				p.Name, l.namespace(), l.Tier, l.MessageSize)
		default:
			return set(c, l, k, text)
		}
	}
	return p
}
