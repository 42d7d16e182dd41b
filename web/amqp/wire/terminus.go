package wire

import "mayfly/engine/value"

// A Source describes the source of a link's messages (AMQP 1.0, part 3, 3.5.3).
type Source struct {
	Address               Opt[string]
	Durable               Opt[uint32]
	ExpiryPolicy          Opt[string] // a symbol
	Timeout               Opt[uint32] // seconds
	Dynamic               bool
	DynamicNodeProperties value.Properties
	DistributionMode      Opt[string]      // a symbol
	Filter                value.Properties // keys are symbols; a described filter is a value.Raw, see ParseDescribed
	DefaultOutcome        State            // nil if there is none
	Outcomes              []string         // symbols
	Capabilities          []string         // symbols
}

func (c *cursor) source() *Source {
	f := c.enterComposite(CodeSource)
	s := &Source{
		Address:               f.str("address"),
		Durable:               f.uint("durable"),
		ExpiryPolicy:          f.symbol("expiry-policy"),
		Timeout:               f.uint("timeout"),
		Dynamic:               f.bool("dynamic").Or(false),
		DynamicNodeProperties: f.fields("dynamic-node-properties"),
		DistributionMode:      f.symbol("distribution-mode"),
		Filter:                f.fields("filter"),
		DefaultOutcome:        f.state("default-outcome"),
		Outcomes:              f.symbols("outcomes"),
		Capabilities:          f.symbols("capabilities"),
	}
	f.leave()
	return s
}

func (s *Source) append(b []byte) []byte {
	b, at := openComposite(b, CodeSource)
	b = appendOptString(b, s.Address)
	b = appendOptUInt(b, s.Durable)
	b = appendOptSymbol(b, s.ExpiryPolicy)
	b = appendOptUInt(b, s.Timeout)
	b = appendBool(b, s.Dynamic)
	b = AppendFields(b, s.DynamicNodeProperties)
	b = appendOptSymbol(b, s.DistributionMode)
	b = AppendFields(b, s.Filter)
	b = appendState(b, s.DefaultOutcome)
	b = appendSymbols(b, s.Outcomes)
	b = appendSymbols(b, s.Capabilities)
	return closeList(b, at, 11)
}

// A Target describes the target of a link's messages (part 3, 3.5.4).
type Target struct {
	Address               Opt[string]
	Durable               Opt[uint32]
	ExpiryPolicy          Opt[string] // a symbol
	Timeout               Opt[uint32] // seconds
	Dynamic               bool
	DynamicNodeProperties value.Properties
	Capabilities          []string // symbols
}

// A Coordinator is the target to which transactions are declared and discharged (part 4,
// 4.5.1).
type Coordinator struct {
	Capabilities []string // symbols
}

// target reads a target of either kind. The result for the other kind is nil.
func (c *cursor) target() (*Target, *Coordinator) {
	switch code := c.descriptor(); code {
	case CodeTarget:
		f := c.enterList(CodeTarget)
		t := &Target{
			Address:               f.str("address"),
			Durable:               f.uint("durable"),
			ExpiryPolicy:          f.symbol("expiry-policy"),
			Timeout:               f.uint("timeout"),
			Dynamic:               f.bool("dynamic").Or(false),
			DynamicNodeProperties: f.fields("dynamic-node-properties"),
			Capabilities:          f.symbols("capabilities"),
		}
		f.leave()
		return t, nil
	case CodeCoordinator:
		f := c.enterList(CodeCoordinator)
		t := &Coordinator{Capabilities: f.symbols("capabilities")}
		f.leave()
		return nil, t
	default:
		c.fail(CondInvalidField, "%v is expected, not %v", CodeTarget, code)
		return nil, nil
	}
}

func (t *Target) append(b []byte) []byte {
	b, at := openComposite(b, CodeTarget)
	b = appendOptString(b, t.Address)
	b = appendOptUInt(b, t.Durable)
	b = appendOptSymbol(b, t.ExpiryPolicy)
	b = appendOptUInt(b, t.Timeout)
	b = appendBool(b, t.Dynamic)
	b = AppendFields(b, t.DynamicNodeProperties)
	b = appendSymbols(b, t.Capabilities)
	return closeList(b, at, 7)
}

func (t *Coordinator) append(b []byte) []byte {
	b, at := openComposite(b, CodeCoordinator)
	b = appendSymbols(b, t.Capabilities)
	return closeList(b, at, 1)
}

// LifetimePolicy returns the policy that v encodes (part 3, 3.5.10 to 3.5.13): one of the four from
// CodeDeleteOnClose to CodeDeleteOnNoLinksOrMessages. The key in a dynamic node's properties is
// "lifetime-policy".
func LifetimePolicy(v value.Value) (Code, error) {
	raw, _ := v.Bytes()
	c := newCursor(raw)
	code := c.descriptor()
	if c.err == nil && (code < CodeDeleteOnClose || code > CodeDeleteOnNoLinksOrMessages) {
		c.fail(CondInvalidField, "%v is not a lifetime policy", code)
	}
	f := c.enterList(code)
	f.leave()
	return code, c.checkEnd()
}
