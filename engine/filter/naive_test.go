package filter_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"mayfly/engine/value"
)

// This is a second evaluator, written from the specification and the package's comment for
// clarity alone. It uses its own trees, which it formats as text for the real one.

// These are the values of the naive evaluator: nil (unknown), bool, *big.Int, float32, float64,
// exact (a decimal), string, instant, duration, and value.Value for values that can only be
// compared for equality.
type (
	exact    float64
	instant  struct{ ticks *big.Int } // since 0001
	duration struct{ ticks int64 }
)

var errNaive = errors.New("cannot be evaluated")

// A node is a condition or an expression. Unused fields are zero.
type node struct {
	op   string // "and", "or", "not", a comparison, "in", "like", "exists", "null", "flag"; "+", "-", …, "neg", "pos", "prop", "sys", "const", "p"
	args []*node
	not  bool        // for in, like and null
	name string      // for prop, sys, exists and null
	v    value.Value // for const
}

type world struct {
	own    value.Properties
	system map[string]value.Value // by lower case
}

func (w world) find(n *node) (value.Value, bool) {
	if n.op == "sys" || n.op != "p" && strings.HasPrefix(n.name, "sys.") {
		v, ok := w.system[strings.ToLower(strings.TrimPrefix(n.name, "sys."))]
		return v, ok
	}
	for _, p := range w.own {
		if p.Name == n.name {
			return p.Value, true
		}
	}
	for _, p := range w.own {
		if strings.EqualFold(p.Name, n.name) {
			return p.Value, true
		}
	}
	return value.Value{}, false
}

func naive(v value.Value) any {
	if s, ok := v.Str(); ok {
		return s
	}
	if b, ok := v.Bool(); ok {
		return b
	}
	if i, ok := v.Int64(); ok {
		return big.NewInt(i)
	}
	if u, ok := v.Uint64(); ok {
		return new(big.Int).SetUint64(u)
	}
	if f, ok := v.Float32(); ok {
		return f
	}
	if f, ok := v.Float64(); ok {
		return f
	}
	if r, ok := v.Char(); ok && utf8.ValidRune(r) {
		return string(r)
	}
	switch v.Kind() {
	case value.Null:
		return nil
	case value.Decimal32, value.Decimal64, value.Decimal128:
		r, ok := new(big.Rat).SetString(v.Text())
		if !ok {
			panic(v.Text())
		}
		f, _ := r.Float64()
		return exact(f)
	case value.Timestamp:
		ms, _ := v.Millis()
		t := big.NewInt(ms)
		t.Add(t, big.NewInt(62_135_596_800_000))
		return instant{t.Mul(t, big.NewInt(10_000))}
	case value.DateTimeOffset, value.DateTime:
		t, _ := v.Ticks()
		return instant{big.NewInt(t)}
	case value.Timespan:
		t, _ := v.Ticks()
		return duration{t}
	}
	return v
}

// truth returns true, false or nil.
func (n *node) truth(w world) (any, error) {
	switch n.op {
	case "and", "or":
		decides := n.op == "or"
		var result any = !decides
		for _, a := range n.args {
			b, err := a.truth(w)
			if err != nil {
				return nil, err
			}
			if b == decides {
				return decides, nil
			}
			if b == nil {
				result = nil
			}
		}
		return result, nil
	case "not":
		b, err := n.args[0].truth(w)
		if b == nil || err != nil {
			return nil, err
		}
		return !b.(bool), nil
	case "exists":
		_, ok := w.find(n)
		return ok, nil
	case "null":
		v, ok := w.find(n)
		return (!ok || v == value.Value{}) != n.not, nil
	case "flag":
		v, err := n.args[0].value(w)
		if _, ok := v.(bool); !ok && v != nil {
			return nil, errNaive
		}
		return v, err
	case "in":
		return n.in(w)
	}
	a, err := n.args[0].value(w)
	if err != nil {
		return nil, err
	}
	b, err := n.args[1].value(w)
	if err != nil {
		return nil, err
	}
	if n.op == "like" {
		return n.like(w, a, b)
	}
	if a == nil || b == nil {
		return nil, nil
	}
	rel := relate(a, b)
	if n.op == "=" || n.op == "<>" {
		return (rel == "=") == (n.op == "="), nil
	}
	if rel == "differ" || rel == "=" && !ordered(a) {
		return nil, nil
	}
	return strings.Contains(n.op, rel), nil
}

func (n *node) in(w world) (any, error) {
	x, err := n.args[0].value(w)
	if x == nil || err != nil {
		return nil, err
	}
	doubt := false
	for _, a := range n.args[1:] {
		v, err := a.value(w)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			doubt = true
		case relate(x, v) == "=":
			return !n.not, nil
		}
	}
	if doubt {
		return nil, nil
	}
	return n.not, nil
}

func (n *node) like(w world, a, b any) (any, error) {
	escape := ""
	if len(n.args) > 2 {
		e, err := n.args[2].value(w)
		if err != nil {
			return nil, err
		}
		if a == nil || b == nil || e == nil {
			return nil, nil
		}
		s, ok := e.(string)
		if escape = s; !ok || len(characters(s)) != 1 {
			return nil, errNaive
		}
	}
	if a == nil || b == nil {
		return nil, nil
	}
	pattern, ok := b.(string)
	if !ok {
		return nil, errNaive
	}
	text, isText := a.(string)
	match, ok := naiveLike(text, pattern, escape)
	switch {
	case !ok:
		return nil, errNaive
	case !isText:
		return nil, nil
	default:
		return match != n.not, nil
	}
}

func ordered(v any) bool {
	switch v.(type) {
	case bool, value.Value:
		return false
	default:
		return true
	}
}

// relate returns "<", "=", ">", "nan" or "differ".
func relate(a, b any) string {
	sign := func(c int) string { return [...]string{"<", "=", ">"}[c+1] }
	if x, y, _, ok := meet(a, b); ok {
		switch {
		case x != x || y != y:
			return "nan"
		case x < y:
			return "<"
		case x > y:
			return ">"
		default:
			return "="
		}
	}
	switch a := a.(type) {
	case *big.Int:
		if b, ok := b.(*big.Int); ok {
			return sign(a.Cmp(b))
		}
	case string:
		if b, ok := b.(string); ok {
			return sign(strings.Compare(a, b))
		}
	case instant:
		if b, ok := b.(instant); ok {
			return sign(a.ticks.Cmp(b.ticks))
		}
	case duration:
		if b, ok := b.(duration); ok {
			return sign(big.NewInt(a.ticks).Cmp(big.NewInt(b.ticks)))
		}
	case bool, value.Value:
		if a == b {
			return "="
		}
	}
	return "differ"
}

// meet converts two numbers, at least one of which is not an integer, to floating point. small
// reports that both are compared as float32. ok is false for any other operands.
func meet(a, b any) (x, y float64, small, ok bool) {
	rank := func(v any) int {
		switch v.(type) {
		case *big.Int:
			return 1
		case float32:
			return 2
		case float64, exact:
			return 3
		default:
			return 0
		}
	}
	ra, rb := rank(a), rank(b)
	if ra == 0 || rb == 0 || max(ra, rb) == 1 {
		return 0, 0, false, false
	}
	small = max(ra, rb) == 2
	as := func(v any) float64 {
		switch v := v.(type) {
		case *big.Int:
			f := new(big.Float).SetInt(v)
			if small {
				g, _ := f.Float32()
				return float64(g)
			}
			g, _ := f.Float64()
			return g
		case float32:
			return float64(v)
		case float64:
			return v
		default:
			return float64(v.(exact))
		}
	}
	return as(a), as(b), small, true
}

func (n *node) value(w world) (any, error) {
	switch n.op {
	case "const":
		return naive(n.v), nil
	case "prop", "sys", "p":
		v, _ := w.find(n)
		return naive(v), nil
	}
	a, err := n.args[0].value(w)
	if err != nil {
		return nil, err
	}
	if n.op == "neg" || n.op == "pos" {
		return sign(n.op, a)
	}
	b, err := n.args[1].value(w)
	if a == nil || b == nil || err != nil {
		return nil, err
	}
	return compute(n.op, a, b)
}

func sign(op string, a any) (any, error) {
	minus := op == "neg"
	switch a := a.(type) {
	case nil:
		return nil, nil
	case *big.Int:
		if minus {
			return within(new(big.Int).Neg(a))
		}
		return a, nil
	case float32:
		if minus {
			return -a, nil
		}
		return a, nil
	case float64:
		if minus {
			return -a, nil
		}
		return a, nil
	case exact:
		if minus {
			return -float64(a), nil
		}
		return a, nil
	case duration:
		if minus && a.ticks == math.MinInt64 {
			return nil, errNaive
		}
		if minus {
			return duration{-a.ticks}, nil
		}
		return a, nil
	default:
		return nil, errNaive
	}
}

func within(n *big.Int) (any, error) {
	if !n.IsInt64() && !n.IsUint64() {
		return nil, errNaive
	}
	return n, nil
}

func compute(op string, a, b any) (any, error) {
	if x, y, small, ok := meet(a, b); ok {
		return computeFractions(op, a, b, x, y, small)
	}
	switch a := a.(type) {
	case *big.Int:
		b, ok := b.(*big.Int)
		if !ok || (op == "/" || op == "%") && b.Sign() == 0 {
			return nil, errNaive
		}
		r := new(big.Int)
		switch op {
		case "+":
			r.Add(a, b)
		case "-":
			r.Sub(a, b)
		case "*":
			r.Mul(a, b)
		case "/":
			r.Quo(a, b)
		default:
			r.Rem(a, b)
		}
		return within(r)
	case string:
		if b, ok := b.(string); ok && op == "+" {
			return a + b, nil
		}
	case instant:
		switch b := b.(type) {
		case duration:
			if op == "+" {
				return instant{new(big.Int).Add(a.ticks, big.NewInt(b.ticks))}, nil
			} else if op == "-" {
				return instant{new(big.Int).Sub(a.ticks, big.NewInt(b.ticks))}, nil
			}
		case instant:
			if op == "-" {
				return length(new(big.Int).Sub(a.ticks, b.ticks))
			}
		}
	case duration:
		switch b := b.(type) {
		case duration:
			if op == "+" {
				return length(new(big.Int).Add(big.NewInt(a.ticks), big.NewInt(b.ticks)))
			} else if op == "-" {
				return length(new(big.Int).Sub(big.NewInt(a.ticks), big.NewInt(b.ticks)))
			}
		case instant:
			if op == "+" {
				return instant{new(big.Int).Add(b.ticks, big.NewInt(a.ticks))}, nil
			}
		}
	}
	return nil, errNaive
}

func length(ticks *big.Int) (any, error) {
	if !ticks.IsInt64() {
		return nil, errNaive
	}
	return duration{ticks.Int64()}, nil
}

func computeFractions(op string, a, b any, x, y float64, small bool) (any, error) {
	binary := func(v any) bool {
		switch v.(type) {
		case float32, float64:
			return true
		default:
			return false
		}
	}
	if (op == "/" || op == "%") && y == 0 && !binary(a) && !binary(b) {
		return nil, errNaive
	}
	var f float64
	switch op {
	case "+":
		f = x + y
	case "-":
		f = x - y
	case "*":
		f = x * y
	case "/":
		f = x / y
	default:
		f = math.Mod(x, y)
	}
	if small {
		return float32(f), nil
	}
	return f, nil
}
