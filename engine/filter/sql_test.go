package filter_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// sqlCase is a filter and its result for the test's message.
type sqlCase struct {
	text string
	want filter.Result
}

const (
	T = filter.True
	F = filter.False
	U = filter.Unknown
	E = filter.Failed
)

// judge determines a filter's result from whether it and its negation match.
func judge(t *testing.T, text string, params value.Properties, m *filter.Message) filter.Result {
	t.Helper()
	matches := func(text string) (bool, error) {
		f, err := filter.ParseSQL(text, params)
		if err != nil {
			t.Fatalf("parse %s: %v", text, err)
		}
		ok, err := f.Matches(m)
		if e := new(filter.Error); err != nil && (!errors.As(err, &e) || e.Name != filter.FilterException || e.Text == "" || ok) {
			t.Errorf("%s: error %#v with %v", text, err, ok)
		}
		return ok, err
	}
	yes, err := matches(text)
	no, errNot := matches("NOT (" + text + ")")
	switch {
	case (err != nil) != (errNot != nil) || yes && no:
		t.Fatalf("%s: %v, %v, but its opposite %v, %v", text, yes, err, no, errNot)
		return E
	case err != nil:
		return E
	case yes:
		return T
	case no:
		return F
	default:
		return U
	}
}

func judgeAll(t *testing.T, m *filter.Message, params value.Properties, cases []sqlCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			if got := judge(t, c.text, params, m); got != c.want {
				t.Errorf("is %v, want %v", got, c.want)
			}
		})
	}
}

func props(nameAndValue ...any) value.Properties {
	var p value.Properties
	for i := 0; i < len(nameAndValue); i += 2 {
		q := value.Property{Name: nameAndValue[i].(string)}
		switch v := nameAndValue[i+1].(type) {
		case value.Value:
			q.Value = v
		case string:
			q.Value = value.OfString(v)
		case int:
			q.Value = value.OfInt(int32(v))
		case bool:
			q.Value = value.OfBool(v)
		case float64:
			q.Value = value.OfDouble(v)
		case nil:
		default:
			panic(v)
		}
		p = append(p, q)
	}
	return p
}

func decimalOf(k value.Kind, s string) value.Value {
	v, err := value.Parse(k, s)
	if err != nil {
		panic(err)
	}
	return v
}

func TestSQL(t *testing.T) {
	id := value.OfUUID([16]byte{1, 2, 3})
	m := &filter.Message{
		MessageID: "m1", CorrelationID: "c1", SessionID: "s1", ReplyTo: "r1", ReplyToSessionID: "rs1", Label: "l1",
		To: "t1", ContentType: "ct1", PartitionKey: "pk1", SequenceNumber: 7, EnqueuedSequenceNumber: 5, EnqueuedTime: 1_000_000,
		Properties: props("color", "red", "Price", 12, "yes", true, "no", false, "null", nil, "odd name]", "x", `qu"ote`, "y",
			"größe", 3, "a", 1, "b", 2, "c", 3, "max", value.OfLong(math.MaxInt64), "ulong", value.OfULong(math.MaxUint64),
			"min", value.OfLong(math.MinInt64), "float", value.OfFloat(0.1), "double", 0.1, "nan", math.NaN(), "inf", math.Inf(1),
			"dec", decimalOf(value.Decimal128, "1.50"), "dec0", decimalOf(value.Decimal64, "0"), "sym", value.OfSymbol("red"), "char", value.OfChar('é'),
			"uri", value.OfURI("red"), "id", id, "same", id, "bin", value.OfBinary([]byte("red")), "when", value.OfTimestamp(2_000),
			"later", value.OfTimestamp(5_000), "dto", value.OfDateTimeOffset(621_355_968_000_000_000+20_000_001), "second", value.OfTimespan(10_000_000),
			"path", "a_b%c", "text", "5", "byte", value.OfByte(-2), "p", "pp", "body", "mine", "uint", value.OfUInt(1<<32-1)),
	}
	none := &filter.Message{}
	for _, s := range []struct {
		rule  string
		m     *filter.Message
		cases []sqlCase
	}{
		{"FILT-11 a filter knows properties only", m, []sqlCase{{"body = 'mine'", T}, {"user.body = 'mine'", T}}},
		{"FILT-11 without such a property", none, []sqlCase{{"body = 'mine'", U}, {"EXISTS(body)", F}}},
		{"FILT-19", m, []sqlCase{
			{"a=1 OR b=1 AND c=1", T}, {"(a=1 OR b=1) AND c=1", F}, {"a=9 AND b=2 OR c=3", T}, {"a=9 AND (b=2 OR c=3)", F},
			{"NOT a=9 AND b=9", F}, {"NOT (a=9 AND b=9)", T}, {"NOT a=9 OR a=1", T},
			{"1 + 2 * 3 = 7", T}, {"(1 + 2) * 3 = 9", T}, {"10 - 4 - 3 = 3", T}, {"10 - (4 - 3) = 9", T}, {"100 / 10 / 5 = 2", T},
			{"7 % 4 * 2 = 6", T}, {"-2 * 3 = -6", T}, {"1 - -2 = 3", T}, {"2 * -a = -2", T}, {"-(a + b) = -3", T}, {"+a = 1", T}, {"1 + 1 > 1", T},
			{"a + b IN (3)", T}, {"NOT a IN (2)", T}, {"'a' + 'b' LIKE 'ab'", T}, {"NOT color LIKE 'x' AND a=1", T}, {"NOT yes OR no", F}, {"NOT no AND yes", T},
			{"((((a)))) = (((1)))", T}, {"(((a = 1)))", T}, {"(yes)", T}, {"((yes) AND (NOT (no)))", T}, {"a=1 AND b=2 AND c=3", T}, {"a=0 OR b=0 OR c=3", T},
		}},
		{"FILT-20", m, []sqlCase{
			{"COLOR='red'", T}, {"user.COLOR='red'", T}, {"[Color]='red'", T}, {`"cOLOR"='red'`, T}, {"color='Red'", F}, {"color LIKE 'R%'", F}, {"COLOR LIKE 'r%'", T},
			{"SYS.MESSAGEID='m1'", T}, {"sys.messageid='M1'", F}, {"GRÖSSE = 3", U}, {"GRÖßE = 3", T}, {"color iS nOt nUll aNd eXiSts(color) Or faLse", T},
			{"color In ('red') and Not (a LiKe 'x' EsCaPe 'y')", U}, {"yes = true and no = False", T}, {"user.[odd name]]]='x'", T}, {`"qu""ote"='y'`, T}, {"[odd name]]] = 'x'", T},
			{"sys.[label] = 'l1'", T}, {`sys."LABEL" = 'l1'`, T}, {"P('COLOR') = 'red'", T}, {"p = 'pp'", T},
		}},
		{"FILT-21", m, []sqlCase{
			{"sys.MessageId = 'm1'", T}, {"sys.CorrelationId = 'c1'", T}, {"sys.SessionId = 's1'", T}, {"sys.ReplyTo = 'r1'", T},
			{"sys.ReplyToSessionId = 'rs1'", T}, {"sys.Label = 'l1'", T}, {"sys.Subject = 'l1'", T}, {"sys.To = 't1'", T}, {"sys.ContentType = 'ct1'", T},
			{"sys.SequenceNumber = 7", T}, {"sys.EnqueuedSequenceNumber = 5", T}, {"sys.PartitionKey = 'pk1'", T}, {"sys.EnqueuedTimeUtc > when", T}, {"Label = 'l1'", U},
		}},
		{"FILT-21 what the broker knows", &filter.Message{
			SequenceNumber: 3, EnqueuedTime: 1000, ExpiresAt: 61_000, TimeToLive: time.Minute, ScheduledFor: 500, Size: 77, ViaPartitionKey: "v", DeadLetterSource: "q", DeliveryCount: 2, State: 1,
			Properties: props("minute", value.OfTimespan(600_000_000), "when", value.OfTimestamp(61_000), "then", value.OfTimestamp(500)),
		}, []sqlCase{
			{"sys.TimeToLive = minute", T}, {"sys.TimeToLive < minute", F}, {"sys.ExpiresAtUtc = when", T}, {"sys.ExpiresAtUtc - sys.TimeToLive = sys.EnqueuedTimeUtc", T}, {"sys.ScheduledEnqueueTimeUtc = then", T}, {"sys.scheduledenqueuetime IS NULL", F},
			{"sys.ViaPartitionKey = 'v'", T}, {"sys.DeadLetterSource = 'q'", T}, {"sys.DeliveryCount = 2", T}, {"sys.State = 1", T}, {"sys.Size > 76", T}, {"sys.ForcePersistence = FALSE", T}, {"sys.LockedUntilUtc IS NULL AND sys.LockToken IS NULL", T}, {"EXISTS(sys.LockToken)", F}, {"sys.LockToken = 'x'", U},
		}},
		{"FILT-21 what it does not know", &filter.Message{Properties: props("long", value.OfTimespan(math.MaxInt64))}, []sqlCase{
			{"sys.TimeToLive = long", T}, {"sys.ExpiresAtUtc IS NULL", T}, {"sys.ScheduledEnqueueTimeUtc IS NULL", T}, {"sys.Size IS NULL", T}, {"sys.DeliveryCount = 0", T}, {"sys.State = 0", T}, {"sys.DeadLetterSource = 'q'", U}, {"EXISTS(sys.ViaPartitionKey)", F},
		}},
		{"FILT-34", m, []sqlCase{ // the published grammar, where the parser was stricter
			{"NOT" + " NOT a = 1", T}, {"NOT" + strings.Repeat(" NOT", 2) + " a = 1", F}, {"NOT" + " NOT gone", U}, {"a = 1 AND NOT" + " NOT (a = 2)", F}, {"- -a = 1", T}, {"-+-a = 1", T}, {"--9223372036854775807 > 0", T}, {"- -(a) + 1 = 2", T}, {"-9223372036854775808 < 0", T},
			{"[sys].Label = 'l1'", T}, {"\"SYS\".[label] = 'l1'", T}, {"[user].a = 1", T}, {"[sys] IS NULL", T}, {"a * .5 = 0.5", T}, {"a + 1. = 2", T}, {".5E1 = 5", T}, {"1.E1 = 10", T}, {"a>.5", T}, {"a IN(.5,1.)", T},
		}},
		{"FILT-22", m, []sqlCase{
			{"'abc' LIKE 'a%'", T}, {"'abc' LIKE '%c'", T}, {"'abc' LIKE 'b'", F}, {"'abc' LIKE '%b%'", T}, {"'abc' LIKE 'a_c'", T}, {"'ac' LIKE 'a_c'", F}, {"'aéc' LIKE 'a_c'", T},
			{"'abc' LIKE 'abc%'", T}, {"'' LIKE '%'", T}, {"'' LIKE ''", T}, {"'' LIKE '_'", F}, {"'a' LIKE ''", F}, {"'a' LIKE '__'", F},
			{`'a_b' LIKE 'a\_b' ESCAPE '\'`, T}, {`'axb' LIKE 'a\_b' ESCAPE '\'`, F}, {`path LIKE 'a$_b$%c' ESCAPE '$'`, T}, {`'a\b' LIKE 'a\\b' ESCAPE '\'`, T}, {`'axb' LIKE 'a\xb' ESCAPE '\'`, T},
			{"'a%' LIKE 'a%%' ESCAPE '%'", T}, {"'ab' LIKE 'a%%' ESCAPE '%'", F}, {"'a_b' LIKE 'aé_b' ESCAPE 'é'", T},
			{"color LIKE 'r' + '%'", T}, {"color LIKE color", T}, {"'red!' LIKE color + '_'", T}, {"'r%d' LIKE 'rx' + '%d' ESCAPE 'x'", T}, {"'r_' LIKE 'r' + text + '_' ESCAPE text", T},
			{"color NOT LIKE 'r%'", F}, {"color NOT LIKE 'b%'", T}, {"sym LIKE 'r_d'", T}, {"uri LIKE 'r_d'", T}, {"char LIKE '_'", T}, {"sys.Label LIKE 'l_'", T},
			{"gone LIKE 'x'", U}, {"color LIKE gone", U}, {"color LIKE 'x' ESCAPE gone", U}, {"NULL LIKE 'x'", U}, {"color LIKE NULL", U}, {"color LIKE 'r' ESCAPE NULL", U},
			{"a LIKE '1'", U}, {"a NOT LIKE '1'", U}, {"color LIKE a", E}, {"color LIKE color ESCAPE 'r' + 'd'", E}, {"color LIKE color ESCAPE a", E}, {"'x' LIKE color ESCAPE 'd'", E},
			{"'mississippi' LIKE '%iss_pp%'", T}, {"'mississippi' LIKE '%iss_ss%i'", T}, {"'mississippi' LIKE '%iss_sp%'", F}, {"'aab' LIKE '%a_b%'", T}, {"'ab' LIKE '%a_b%'", F}, {"'xaaab' LIKE '%a_b'", T}, {"'abcabd' LIKE '%ab_%b_'", T}, {"'ab' LIKE '%ab%b'", F},
		}},
		{"FILT-23 set", m, []sqlCase{{"EXISTS(color)", T}, {"color IS NULL", F}, {"color IS NOT NULL", T}, {"EXISTS(sys.Label)", T}, {"sys.Label IS NULL", F}, {"p('color') IS NULL", F}, {"EXISTS(user.color)", T}}},
		{"FILT-23 null", m, []sqlCase{{"EXISTS([null])", T}, {"[null] IS NULL", T}, {"[null] IS NOT NULL", F}, {"p('null') IS NOT NULL", F}}},
		{"FILT-23 missing", none, []sqlCase{{"EXISTS(color)", F}, {"NOT EXISTS(color)", T}, {"color IS NULL", T}, {"color IS NOT NULL", F}, {"EXISTS(sys.Label)", F}, {"sys.Label IS NULL", T}, {"sys.SequenceNumber IS NULL", T}, {"p('color') IS NULL", T}, {"p(gone) IS NULL", T}}},
		{"FILT-24", m, []sqlCase{
			{"p('color') = 'red'", T}, {"property('color') = 'red'", T}, {"P('col' + 'or') = 'red'", T}, {"p('c' + gone) = 'red'", U}, {"p('gone') = 'red'", U}, {"p(p('path')) IS NULL", T},
			{"p('yes')", T}, {"p('sys.Label') = 'l1'", U}, {"p(a) = 1", E}, {"p(a) IS NULL", E}, {"p('a' + 1) = 1", E}, {"newid() = newid()", F}, {"newid() <> newid()", T}, {"newid() = id", F}, {"newid() = 'x'", F}, {"property('price') > 10 AND p('price') < 13", T},
		}},
		{"FILT-26 integers", m, []sqlCase{
			{"7 / 2 = 3", T}, {"-7 / 2 = -3", T}, {"-7 % 2 = -1", T}, {"7 % -2 = 1", T}, {"a + max > 0", T}, {"max + max = ulong - 1", T}, {"min - 1 < 0", E}, {"ulong + 1 > 0", E}, {"ulong - ulong = 0", T}, {"-ulong < 0", E}, {"-min > max", T},
			{"max = 9223372036854775807", T}, {"min = -9223372036854775808", T}, {"ulong > max", T}, {"max < ulong", T}, {"ulong = ulong", T}, {"ulong > -1", T}, {"ulong = -1", F}, {"min / -1 > max", T}, {"min % -1 = 0", T}, {"ulong / 2 = max", T}, {"ulong > ulong - 1", T}, {"ulong <= ulong - 1", F}, {"ulong - 1 < ulong", T}, {"ulong % 10 = 5", T}, {"max * 2 = ulong - 1", T}, {"max * max > 0", E}, {"min * -1 > 0", T}, {"max - min > 0", T}, {"uint * 2 = 8589934590", T},
			{"byte * byte = 4", T}, {"-byte = 2", T}, {"a / 0 = 1", E}, {"a % 0 = 1", E}, {"0 / a = 0", T}, {"ulong / (a - 1) = 1", E}, {"3000000000 * 3 = 9000000000", T},
		}},
		{"FILT-26 fractions", m, []sqlCase{
			{"7 / 2.0 = 3.5", T}, {"1 + 0.5 = 1.5", T}, {"1E3 = 1000", T}, {"1.5e-1 = 0.15", T}, {"2 * 0.5 = a", T}, {"7.5 % 2 = 1.5", T}, {"double = 0.1", T}, {"double + 0 = 0.1", T},
			{"float = 0.1", F}, {"float > 0.1", T}, {"float * 1 = float", T}, {"float + float = float * 2", T}, {"float + 0.0 <> 0.1", T}, {"16777217 = float * 0 + 16777216", T}, {"-float < 0", T}, {"-double = -0.1", T},
			{"nan = nan", F}, {"nan <> nan", T}, {"nan < 1", F}, {"nan >= 1", F}, {"NOT nan < 1", T}, {"inf > max", T}, {"1.0 / 0 = inf", T}, {"-1 / 0.0 = -inf", T}, {"0.0 / 0 = 1", F}, {"5.0 % 0 <> 1", T},
			{"dec = 1.5", T}, {"dec > a", T}, {"dec * 2 = 3", T}, {"dec / 0 = 1", E}, {"a / dec0 = 1", E}, {"dec % dec0 = 1", E}, {"1.0 / dec0 = inf", T}, {"dec0 = 0", T}, {"9007199254740993 = 9007199254740992.0", T}, {"ulong = 18446744073709551615.0", T},
		}},
		{"FILT-26 decimals that are not canonical", &filter.Message{Properties: props("inf", value.OfDecimal32(0x78000001), "less", value.OfDecimal32(0xf8000001), "nan", value.OfDecimal32(0x7c000001), "minusNaN", value.OfDecimal32(0xfc000000), "large", value.OfDecimal32(0x6fffffff), "d64", value.OfDecimal64(0x7800000000000001))}, []sqlCase{
			{"inf > 1E300", T}, {"less < -1E300", T}, {"nan = nan", F}, {"minusNaN <> minusNaN", T}, {"large = 0", T}, {"d64 = inf", T}, {"1 / large = 1", E},
		}},
		{"FILT-33", &filter.Message{Properties: props("net", value.OfDecimal128([16]byte{0x0c, 0x40, 15: 5}), "minus", value.OfDecimal128([16]byte{0x8c, 0x3e, 15: 55}), "ieee", value.OfDecimal128([16]byte{0x30, 0x40, 15: 5}))}, []sqlCase{
			{"net > 4 AND net < 6", T}, {"net = 5", T}, {"ieee = 5", T}, {"net = ieee", T}, {"minus = -5.5", T}, {"net + minus = -0.5", T}, {"net IN (4, 5)", T}, {"net <> 5", F},
		}},
		{"FILT-26 texts", m, []sqlCase{
			{"color + '!' = 'red!'", T}, {"sym + uri = 'redred'", T}, {"char + 'x' = 'éx'", T}, {"'it''s' = 'it' + '''' + 's'", T}, {"'a' < 'b'", T}, {"'B' < 'a'", T}, {"'a' < 'aa'", T}, {"'ä' > 'z'", T}, {"sym = 'red'", T}, {"uri = color", T}, {"char = 'é'", T}, {"'a' >= 'a'", T}, {"'a' > 'a'", F}, {"'a' <= 'b'", T},
		}},
		{"FILT-26 moments", m, []sqlCase{
			{"later - when = second + second + second", T}, {"when + second < later", T}, {"when + second + second + second = later", T}, {"second + when = when + second", T}, {"later - second - second - second = when", T}, {"when - later < second", T}, {"-second + second = second - second", T}, {"-(when - later) > second", T}, {"+second = second", T},
			{"dto > when", T}, {"dto - when < second", T}, {"dto = when", F}, {"when + (dto - when) = dto", T}, {"dto - (dto - when) = when", T}, {"dto <= later AND dto >= when", T}, {"sys.EnqueuedTimeUtc - second > when", T}, {"sys.EnqueuedTimeUtc - second <= when", F},
			{"when + when = later", E}, {"when * 2 = later", E}, {"second - when = later", E}, {"second * 2 = second", E}, {"-when = when", E}, {"when + 1 = later", E},
		}},
		{"FILT-27", m, []sqlCase{
			{"'2' = 2", F}, {"'2' <> 2", T}, {"'2' != 2", T}, {"'2' < 3", U}, {"'2' >= 2", U}, {"text = 5", F}, {"text <> 5", T}, {"text > 4", U}, {"text <= 4", U}, {"yes = 1", F}, {"yes = 'true'", F}, {"yes = TRUE", T}, {"yes > no", U}, {"yes <> no", T},
			{"id = same", T}, {"id <> same", F}, {"id < same", U}, {"id = '01020300-0000-0000-0000-000000000000'", F}, {"bin = 'red'", F}, {"bin = bin", T}, {"bin = id", F}, {"bin > bin", U}, {"when = 2000", F}, {"when > 1", U}, {"second = 10000000", F}, {"when <> second", T},
			{"text + 1 = 6", E}, {"1 + text = 6", E}, {"text * 2 = 10", E}, {"yes + 1 = 2", E}, {"-text = -5", E}, {"+text = 5", E}, {"-yes = 1", E}, {"id + id = id", E}, {"color - 'd' = 're'", E}, {"a IN ('1', 1)", T}, {"a IN ('1')", F}, {"a NOT IN ('1')", T},
		}},
		{"FILT-29", m, []sqlCase{
			{"gone = 'red'", U}, {"gone <> 'red'", U}, {"gone <> gone", U}, {"NOT gone = 'red'", U}, {"gone", U}, {"NOT gone", U}, {"NULL", U}, {"NULL = NULL", U}, {"[null] = 1", U}, {"[null] <> 1", U}, {"gone > 1", U}, {"1 < gone", U}, {"1 >= NULL", U},
			{"gone + 1 = 2", U}, {"1 - gone = 2", U}, {"'a' + gone = 'a'", U}, {"-gone = 1", U}, {"+gone = 1", U}, {"gone / 0 = 1", U}, {"0 / gone = 0", U}, {"gone + 'x' + 1 = 1", U},
			{"gone IN (1)", U}, {"gone NOT IN (1)", U}, {"gone IN (gone)", U}, {"a IN (gone, 1)", T}, {"a IN (gone, 2)", U}, {"a IN (2, NULL)", U}, {"a NOT IN (gone, 1)", F}, {"a NOT IN (gone, 2)", U}, {"a IN (2, 3)", F}, {"a NOT IN (2, 3)", T}, {"a IN (b - a)", T},
			{"NOT EXISTS(gone) OR gone <> 'red'", T}, {"NOT EXISTS(color) OR color <> 'red'", F}, {"NOT EXISTS(color) OR color <> 'blue'", T},
		}},
		{"FILT-30", none, []sqlCase{
			{"sys.Label='x'", U}, {"sys.Label<>'x'", U}, {"NOT sys.Label='x'", U}, {"sys.SequenceNumber > 0", U}, {"sys.EnqueuedTimeUtc = sys.EnqueuedTimeUtc", U}, {"sys.EnqueuedSequenceNumber = 0", U}, {"sys.MessageId LIKE '%'", U}, {"sys.To IN ('x')", U}, {"sys.Label='x' OR TRUE", T},
		}},
		{"FILT-31", m, []sqlCase{
			{"a / 0 = 1", E}, {"a / (b - 2) > 0", E}, {"color", E}, {"a", E}, {"id OR TRUE", E}, {"NOT color", E}, {"p('color')", E}, {"@x = 1", E}, {"NOT EXISTS(color) AND a/0 = 1", F}, {"EXISTS(color) OR a/0 = 1", T}, {"a/0 = 1 AND FALSE", E}, {"a/0 = 1 OR TRUE", E}, {"gone = 1 AND a/0 = 1", E}, {"gone = 1 OR a/0 = 1", E},
			{"a IN (1, 1/0)", T}, {"a IN (2, 1/0)", E}, {"1/0 IN (1)", E}, {"gone IN (1/0)", U}, {"1/0 LIKE 'x'", E}, {"color LIKE 'x' + 1", E}, {"color LIKE 'x' ESCAPE 'x' + 1", E}, {"1 = 1/0", E}, {"gone = 1/0", E}, {"gone + 1/0 = 1", E}, {"-(1/0) = 1", E}, {"p('a' + 1)", E},
		}},
	} {
		t.Run(s.rule, func(t *testing.T) { judgeAll(t, s.m, nil, s.cases) })
	}
}

func TestParameters(t *testing.T) {
	m := &filter.Message{EnqueuedTime: 10_000, Properties: props("x", 5, "d", value.OfTimespan(40_000_000), "id", value.OfUUID([16]byte{9}))}
	params := props("@x", 5, "@Ts", value.OfTimestamp(6_000), "@null", nil, "@flag", true, "@pattern", "a$%", "@esc", "$", "@id", value.OfUUID([16]byte{9}), "bare", 1)
	t.Run("FILT-25", func(t *testing.T) {
		judgeAll(t, m, params, []sqlCase{
			{"x = @x", T}, {"x = @X", T}, {"@x + 1 > x", T}, {"x = @y", E}, {"@y IN (1)", E}, {"x IN (1, @x, @y)", T}, {"x = @null", U}, {"@flag", T}, {"@flag AND x = @x", T}, {"@unbound", E}, {"x = @bare", E},
			{"'a%' LIKE @pattern ESCAPE @esc", T}, {"'ab' LIKE @pattern ESCAPE @esc", F}, {"id = @id", T}, {"x = @unbound OR TRUE", E}, {"TRUE OR x = @unbound", T},
		})
	})
	t.Run("FILT-26", func(t *testing.T) {
		judgeAll(t, m, params, []sqlCase{{"sys.EnqueuedTimeUtc - d <= @ts", T}, {"sys.EnqueuedTimeUtc - d >= @ts", T}, {"sys.EnqueuedTimeUtc - d < @ts", F}})
	})
}

// TestTruthTables tests the truth tables of the operators, with operands of every kind that can
// be true, false or unknown.
func TestTruthTables(t *testing.T) {
	m := &filter.Message{Properties: props("t", true, "f", false, "n", nil, "a", 1)}
	operands := map[filter.Result][]string{
		T: {"TRUE", "t", "a = 1", "EXISTS(a)", "(NOT f)", "a IN (1)"},
		F: {"FALSE", "f", "a = 2", "EXISTS(z)", "(NOT t)", "a IS NULL"},
		U: {"NULL", "n", "z", "z = 1", "(NOT z)", "a = n", "z IN (1)", "z LIKE 'x'"},
	}
	// The truth tables are those of the specification.
	for _, row := range []struct{ a, b, and, or, not filter.Result }{
		{T, T, T, T, F}, {T, F, F, T, F}, {T, U, U, T, F}, {F, F, F, F, T}, {F, U, F, U, T}, {U, U, U, U, U},
	} {
		for _, a := range operands[row.a] {
			for _, b := range operands[row.b] {
				for _, c := range []sqlCase{
					{a + " AND " + b, row.and}, {b + " AND " + a, row.and}, {a + " OR " + b, row.or}, {b + " OR " + a, row.or}, {"NOT (" + a + ")", row.not},
				} {
					if got := judge(t, c.text, nil, m); got != c.want {
						t.Errorf("FILT-29 %s is %v, want %v", c.text, got, c.want)
					}
				}
			}
		}
	}
}

func TestMissingSystemFails(t *testing.T) {
	for text, want := range map[string][2]filter.Result{ // off, on
		"sys.Label = 'x'": {U, E}, "sys.SequenceNumber > 0": {U, E}, "EXISTS(sys.Label)": {F, F}, "sys.Label IS NULL": {T, T}, "gone = 'x'": {U, U}, "FALSE AND sys.Label = 'x'": {F, F}, "sys.To = 't'": {T, T}, "sys.Label + 'x' = 'x'": {U, E},
	} {
		t.Run("FILT-30 "+text, func(t *testing.T) {
			for i, fails := range []bool{false, true} {
				f, err := filter.ParseSQL(text, nil)
				if err != nil {
					t.Fatal(err)
				}
				f.MissingSystemFails = fails
				ok, err := f.Matches(&filter.Message{To: "t"})
				if ok != (want[i] == T) || (err != nil) != (want[i] == E) {
					t.Errorf("with %v: %v, %v; want %v", fails, ok, err, want[i])
				}
			}
		})
	}
}

func TestEvaluationErrors(t *testing.T) {
	m := &filter.Message{Properties: props("a", 1, "s", "x", "ts", value.OfTimestamp(math.MaxInt64), "day", value.OfTimespan(math.MaxInt64), "long", strings.Repeat("x", 40_000), "least", value.OfTimespan(math.MinInt64), "old", value.OfTimestamp(0), "dto", value.OfDateTimeOffset(math.MaxInt64-5))}
	for text, want := range map[string]string{
		"TRUE AND a / 0 = 1":          "a / 0 at character 10 divides by zero.",
		"a + s = 1":                   "a + s at character 1 cannot be computed from int and string.",
		"1 + (a - s) = 1":             "a - s at character 6 cannot be computed from int and string.",
		"-s = 1":                      "-s at character 1 cannot be negated, because it is of type string.",
		"+s = 1":                      "+s at character 1 cannot have a sign, because it is of type string.",
		"s":                           "s at character 1 must be a condition, not a value of type string.",
		"x = @who":                    "@who at character 5 is a parameter without a value in the rule.",
		"p(a) = 1":                    "p(a) at character 1 needs a string as the name, not int.",
		"s LIKE a":                    "s LIKE a at character 1 has a pattern of type int, but needs a string.",
		"s LIKE s ESCAPE 'a' + 'b'":   "s LIKE s ESCAPE 'a' + 'b' at character 1 has an escape that is not one character.",
		"'é' LIKE s ESCAPE s":         "'é' LIKE s ESCAPE s at character 1 has a pattern that ends with its escape character.",
		"9223372036854775807 * 4 = a": "9223372036854775807 * 4 at character 1 does not fit into 64 bits.",
		"ts + day = ts":               "ts + day at character 1 is outside the range of a date.",
		"ts - -day = ts":              "ts - -day at character 1 is outside the range of a date.",
		"ts - least = ts":             "ts - least at character 1 is outside the range of a date.",
		"ts - old = day":              "ts - old at character 1 is outside the range of a timespan.",
		"dto + day = dto":             "dto + day at character 1 is outside the range of a date.",
		"-least = day":                "-least at character 1 is outside the range of a timespan.",
		"day + day = day":             "day + day at character 1 is outside the range of a timespan.",
		"long + long = s":             "long + long at character 1 makes a string of more than 65536 bytes.",
	} {
		t.Run("FILT-31 "+text, func(t *testing.T) {
			f, err := filter.ParseSQL(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Matches(m)
			if e := new(filter.Error); !errors.As(err, &e) || e.Name != "FilterException" || e.Text != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
		})
	}
}

func TestNewID(t *testing.T) {
	action, err := filter.ParseAction("SET a = newid(); SET b = newid()", nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[value.Value]bool{}
	for _, m := range []filter.Message{{}, {Random: 1}, {SequenceNumber: 1}, {MessageID: "1"}, {EnqueuedTime: 1}} {
		first, err := action.Apply(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := action.Apply(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range first.Properties {
			id, ok := p.Value.UUID()
			if !ok || seen[p.Value] || id[6]>>4 != 4 || id[8]>>6 != 2 {
				t.Errorf("FILT-24 id %v of %+v is not a new one of version 4", p.Value, m)
			}
			seen[p.Value] = true
			if again.Properties[i] != p {
				t.Errorf("a second evaluation gives %v, not %v", again.Properties[i], p)
			}
		}
	}
}

func TestLate(t *testing.T) {
	for text, want := range map[string]bool{
		"sys.SequenceNumber = 1": true, "sys.EnqueuedSequenceNumber = 1": true, "sys.EnqueuedTimeUtc > @x": true, "newid() = x": true, "FALSE AND (EXISTS(sys.sequencenumber))": true,
		"sys.MessageId = 'x' AND sys.Label LIKE '%' AND p('SequenceNumber') = 1": false, "SequenceNumber = 1": false,
	} {
		f, err := filter.ParseSQL(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Late() != want {
			t.Errorf("%s is late: %v", text, f.Late())
		}
	}
	for text, want := range map[string]bool{"SET a = sys.SequenceNumber": true, "SET a = 1; SET b = newid()": true, "SET sys.Label = 'x'; REMOVE sys.To": false} {
		a, err := filter.ParseAction(text, nil, 9)
		if err != nil {
			t.Fatal(err)
		}
		if a.Late() != want {
			t.Errorf("%s is late: %v", text, a.Late())
		}
	}
}
