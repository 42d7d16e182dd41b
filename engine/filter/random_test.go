package filter_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// Both evaluators must agree on random filters and messages.

type drawer struct{ *rand.Rand }

func pick[T any](d drawer, from ...T) T { return from[d.IntN(len(from))] }

var (
	ownNames = []string{"a", "b", "c d", "é", "n]", `q"`, "count", "null"}
	sysNames = []string{"Label", "To", "SequenceNumber", "EnqueuedTimeUtc"}
)

const themes = 6

// value draws a value that is comparable with others of its theme.
func (d drawer) value(theme int) value.Value {
	switch theme {
	case 0:
		n := pick(d, 0, 1, 2, 3, -1, 100)
		switch d.IntN(8) {
		case 0:
			return value.OfUByte(uint8(n))
		case 1:
			return value.OfByte(int8(n))
		case 2:
			return value.OfUShort(uint16(n))
		case 3:
			return value.OfUInt(uint32(n))
		case 4:
			return value.OfULong(pick(d, uint64(n), uint64(n), math.MaxUint64, math.MaxInt64+1))
		case 5:
			return value.OfShort(int16(n))
		case 6:
			return value.OfInt(pick(d, int32(n), int32(n), math.MaxInt32, math.MinInt32))
		default:
			return value.OfLong(pick(d, int64(n), int64(n), int64(n), math.MaxInt64, math.MinInt64, 1<<53+1))
		}
	case 1:
		f := pick(d, 0, 0.1, 0.5, 1, 2, 1.5, -1, math.Inf(1), math.NaN(), 1<<53, 16777217, math.Copysign(0, -1))
		switch d.IntN(4) {
		case 0:
			return value.OfFloat(float32(f))
		case 1:
			return decimalOf(pick(d, value.Decimal32, value.Decimal64, value.Decimal128), pick(d, "0", "1.50", "-2", "1", "0.1", "1E+3"))
		default:
			return value.OfDouble(f)
		}
	case 2:
		s := pick(d, "", "a", "A", "b", "ab", "a_b", "%", "é", "a%", "_", "it's", "count")
		switch d.IntN(6) {
		case 0:
			return value.OfSymbol(s)
		case 1:
			return value.OfURI(s)
		case 2:
			return value.OfChar(pick(d, 'a', 'é', '%', 0xd800))
		default:
			return value.OfString(s)
		}
	case 3:
		if d.IntN(2) == 0 {
			return value.OfTimestamp(pick(d, int64(0), 1, 1000, 1_700_000_000_000, -5))
		}
		return value.OfDateTimeOffset(pick(d, int64(621_355_968_000_000_000), 621_355_968_000_010_000, 621_355_968_000_010_001, 5))
	case 4:
		return value.OfTimespan(pick(d, int64(0), 1, -1, 10_000, 10_001, 10_000_000, 100_000_000_000_000_000))
	default:
		return pick(d, value.OfBool(true), value.OfBool(false), value.Value{}, value.OfUUID([16]byte{1}), value.OfUUID([16]byte{2}), value.OfBinary([]byte("a")), value.OfRaw([]byte{0x45}))
	}
}

func (d drawer) property() *node {
	if d.IntN(4) == 0 {
		return &node{op: "sys", name: pick(d, sysNames...)}
	}
	return &node{op: pick(d, "prop", "prop", "prop", "p"), name: d.respell(pick(d, append(ownNames, "gone")...))}
}

// respell sometimes changes the case of a name.
func (d drawer) respell(name string) string {
	switch d.IntN(4) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return strings.ToLower(name)
	default:
		return name
	}
}

func (d drawer) expression(theme, depth int) *node {
	if d.IntN(8) == 0 {
		theme = d.IntN(themes)
	}
	switch n := d.IntN(10); {
	case n < 3 || depth <= 0:
		return &node{op: "const", v: d.value(theme)}
	case n < 6:
		return d.property()
	case n < 7:
		return &node{op: pick(d, "neg", "pos"), args: []*node{d.expression(theme, depth-1)}}
	default:
		op := pick(d, "+", "-", "*", "/", "%")
		if theme > 1 {
			op = pick(d, "+", "+", "-")
		}
		other := theme
		if theme == 3 {
			other = pick(d, 3, 4)
		}
		return &node{op: op, args: []*node{d.expression(theme, depth-1), d.expression(other, depth-1)}}
	}
}

func (d drawer) condition(depth int) *node {
	theme := d.IntN(themes)
	not := d.IntN(2) == 0
	switch n := d.IntN(20); {
	case n < 8 && depth > 0:
		op := pick(d, "and", "or", "not")
		args := []*node{d.condition(depth - 1)}
		for op != "not" && (len(args) < 2 || d.IntN(3) == 0) {
			args = append(args, d.condition(depth-1))
		}
		return &node{op: op, args: args}
	case n < 10:
		in := &node{op: "in", not: not, args: []*node{d.expression(theme, 1)}}
		for len(in.args) < 2 || d.IntN(2) == 0 {
			in.args = append(in.args, d.expression(theme, 1))
		}
		return in
	case n < 12:
		like := &node{op: "like", not: not, args: []*node{d.expression(2, 1), d.expression(2, 2)}}
		if d.IntN(3) == 0 {
			like.args = append(like.args, d.expression(2, 0))
		}
		return like
	case n < 14:
		x := d.property()
		for x.op == "p" {
			x = d.property()
		}
		if x.op == "sys" {
			x.name = "sys." + x.name
		}
		return &node{op: pick(d, "exists", "null"), not: not, name: x.name}
	case n < 15:
		x := d.property()
		if x.op == "sys" {
			x = &node{op: "const", v: pick(d, value.OfBool(true), value.OfBool(false), value.Value{})}
		}
		return &node{op: "flag", args: []*node{x}}
	default:
		return &node{op: pick(d, "=", "<>", "<", "<=", ">", ">="), args: []*node{d.expression(theme, 2), d.expression(theme, 2)}}
	}
}

func (d drawer) world() (world, *filter.Message) {
	w := world{system: map[string]value.Value{}}
	m := &filter.Message{}
	for range d.IntN(12) {
		w.own = append(w.own, value.Property{Name: d.respell(pick(d, ownNames...)), Value: d.value(d.IntN(themes))})
	}
	m.Properties = w.own
	if d.IntN(2) == 0 {
		m.Label, m.EnqueuedTime = pick(d, "a", "ab", "a_b"), pick(d, int64(1), 1000, 1_700_000_000_000)
		w.system["label"], w.system["enqueuedtimeutc"] = value.OfString(m.Label), value.OfTimestamp(m.EnqueuedTime)
	}
	if d.IntN(2) == 0 {
		m.SequenceNumber = pick(d, int64(1), 2, math.MaxInt64)
		w.system["sequencenumber"] = value.OfLong(m.SequenceNumber)
	}
	return w, m
}

// A printer formats a tree with the brackets that it needs, and some more.
type printer struct {
	drawer
	params value.Properties
}

func level(n *node) int {
	switch n.op {
	case "or":
		return 1
	case "and":
		return 2
	case "not":
		return 3
	case "=", "<>", "<", "<=", ">", ">=", "in", "like", "exists", "null":
		return 4
	case "+", "-":
		return 5
	case "*", "/", "%":
		return 6
	case "neg", "pos":
		return 7
	case "flag":
		return level(n.args[0])
	default:
		return 8
	}
}

func (p *printer) print(n *node, least int) string {
	if level(n) < least || p.IntN(12) == 0 && n.op != "flag" {
		return "(" + p.space() + p.print(n, 0) + p.space() + ")"
	}
	word := func(s string) string { return " " + p.space() + p.respell(s) + " " + p.space() }
	list := func(from []*node, sep string, least int) string {
		var all []string
		for _, a := range from {
			all = append(all, p.print(a, least))
		}
		return strings.Join(all, sep)
	}
	not := ""
	if n.not {
		not = word("NOT")
	}
	switch n.op {
	case "or":
		return list(n.args, word("OR"), 2)
	case "and":
		return list(n.args, word("AND"), 3)
	case "not":
		return word("NOT") + p.print(n.args[0], 4)
	case "flag":
		return p.print(n.args[0], least)
	case "exists":
		return word("EXISTS") + "(" + p.space() + p.name(n.name) + p.space() + ")"
	case "null":
		return p.name(n.name) + word("IS") + not + word("NULL")
	case "in":
		return p.print(n.args[0], 5) + not + word("IN") + "(" + list(n.args[1:], p.space()+","+p.space(), 5) + ")"
	case "like":
		s := p.print(n.args[0], 5) + not + word("LIKE") + p.print(n.args[1], 5)
		if len(n.args) > 2 {
			s += word("ESCAPE") + p.print(n.args[2], 5)
		}
		return s
	case "neg", "pos":
		return map[string]string{"neg": "-", "pos": "+"}[n.op] + p.space() + p.print(n.args[0], 8)
	case "prop":
		return p.name(n.name)
	case "sys":
		return p.name("sys." + n.name)
	case "p":
		arg := p.constant(value.OfString(n.name))
		if p.IntN(2) == 0 {
			first := characters(n.name)[0]
			arg = p.constant(value.OfString(first)) + "+" + p.constant(value.OfString(n.name[len(first):]))
		}
		return pick(p.drawer, "p", "P", "property") + p.space() + "(" + arg + ")"
	case "const":
		return p.constant(n.v)
	default:
		op := n.op
		if op == "<>" {
			op = pick(p.drawer, "<>", "!=")
		}
		left, right := 5, 5
		if level(n) > 4 {
			left, right = level(n), level(n)+1
		}
		return p.print(n.args[0], left) + p.space() + op + p.space() + p.print(n.args[1], right)
	}
}

func (p *printer) space() string { return pick(p.drawer, "", "", " ", "\t", "\n  ", "\u00a0") }

func (p *printer) name(name string) string {
	if s, ok := strings.CutPrefix(name, "sys."); ok {
		return p.respell("sys") + p.space() + "." + p.space() + p.respell(s)
	}
	scope := pick(p.drawer, "", "", "user.", "USER . ")
	plain := len(name) == 1 || strings.EqualFold(name, "count") || name == "gone" || strings.EqualFold(name, "é")
	switch {
	case plain && p.IntN(2) == 0, strings.EqualFold(name, "null") && scope != "":
		return scope + name
	case p.IntN(2) == 0:
		return scope + "[" + strings.ReplaceAll(name, "]", "]]") + "]"
	default:
		return scope + `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
}

// constant writes a literal if an atomic one exists, else a parameter.
func (p *printer) constant(v value.Value) string {
	text := v.Text()
	switch v.Kind() {
	case value.String:
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	case value.Null, value.Bool:
		return p.respell(v.String())
	case value.Long:
		if text[0] != '-' {
			return text
		}
	case value.Double:
		if f, _ := v.Float64(); f >= 0 && f < math.Inf(1) && !math.Signbit(f) {
			return pick(p.drawer, strconv.FormatFloat(f, 'E', -1, 64), strconv.FormatFloat(f, 'f', 2, 64))
		}
	}
	name := fmt.Sprintf("@P%d", len(p.params))
	p.params = append(p.params, value.Property{Name: p.respell(name), Value: v})
	return name
}

// elementary returns the conditions of a tree that do not contain other conditions.
func elementary(n *node) []*node {
	if n.op != "and" && n.op != "or" && n.op != "not" {
		return []*node{n}
	}
	var all []*node
	for _, a := range n.args {
		all = append(all, elementary(a)...)
	}
	return all
}

func outcome(b any, err error) filter.Result {
	switch {
	case err != nil:
		return filter.Failed
	case b == nil:
		return filter.Unknown
	case b == true:
		return filter.True
	default:
		return filter.False
	}
}

func TestAgainstNaive(t *testing.T) {
	const trees = 10_000
	d := drawer{rand.New(rand.NewPCG(14, 3))}
	results := map[filter.Result]int{}
	refused := 0
	for range trees {
		tree := d.condition(3)
		p := &printer{drawer: d}
		text := p.print(tree, 0)
		f, err := filter.ParseSQL(text, p.params)
		if e := new(filter.SyntaxError); errors.As(err, &e) && strings.HasPrefix(e.Text, "This LIKE") {
			refused++ // a constant pattern or escape that always fails
			continue
		} else if err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
		for range 4 {
			w, m := d.world()
			want := outcome(tree.truth(w))
			results[want]++
			ok, err := f.Matches(m)
			if ok != (want == filter.True) || (err != nil) != (want == filter.Failed) {
				t.Fatalf("%s\n%+v\nwith %v: %v, %v; want %v", text, m, p.params, ok, err, want)
			}
			clauses, nodes := f.Explain(m), elementary(tree)
			if len(clauses) != len(nodes) {
				t.Fatalf("%s has %d elementary conditions, %d are explained", text, len(nodes), len(clauses))
			}
			for i, c := range clauses {
				if want := outcome(nodes[i].truth(w)); c.Result != want || (c.Error != "") != (want == filter.Failed) {
					t.Fatalf("%s\n%s\n%+v\nwith %v: %+v; want %v", text, c.Text, m, p.params, c, want)
				}
				if r := []rune(text); string(r[c.From:c.To]) != c.Text {
					t.Fatalf("%s\n%q is not at %d", text, c.Text, c.From)
				}
			}
		}
	}
	t.Logf("%v, %d refused", results, refused)
	for _, r := range []filter.Result{T, F, U, E} {
		if results[r] < trees/20 {
			t.Errorf("of %d trees only %d are %v", trees, results[r], r)
		}
	}
	if refused > trees/10 {
		t.Errorf("%d of %d trees were refused", refused, trees)
	}
}
