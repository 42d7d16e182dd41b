package definition_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/definition"
)

// A file of the emulator's shape loads unchanged; where it is silent the hosted
// defaults hold.
func TestSample(t *testing.T) {
	t.Run("EMU-8 it is read", readsSample)
	t.Run("EMU-8 it is made", makesSample)
}

func readsSample(t *testing.T) {
	f, err := os.Open("testdata/Config.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := definition.Read(f, definition.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const topics = "UserConfig.Namespaces[0].Topics[0]"
	want := definition.Topology{Namespace: "sbemulatorns", Entities: []definition.Entity{
		{
			At: "UserConfig.Namespaces[0].Queues[0]", Kind: engine.Queue, Path: "orders.in",
			Config: engine.Config{
				DefaultMessageTimeToLive: time.Hour, DuplicateDetectionHistoryTimeWindow: 20 * time.Second,
				LockDuration: time.Minute, MaxDeliveryCount: 3,
			},
		},
		{
			At: topics, Kind: engine.Topic, Path: "prices",
			Config: engine.Config{DefaultMessageTimeToLive: time.Hour, DuplicateDetectionHistoryTimeWindow: 5 * time.Second},
		},
		{
			At: topics + ".Subscriptions[0]", Kind: engine.Subscription, Path: "prices/Subscriptions/by.system",
			Config: engine.Config{
				DeadLetteringOnMessageExpiration: true, DefaultMessageTimeToLive: 5 * time.Minute,
				LockDuration: 5 * time.Second, MaxDeliveryCount: 10,
			},
			RulesGiven: true,
			Rules: []engine.Rule{{Name: "all-conditions", Filter: engine.Filter{
				Kind: engine.CorrelationFilter,
				Text: `{"ContentType":"application/json","CorrelationId":"c-1","Label":"price \"changed\"","MessageId":"m-1",` +
					`"ReplyTo":"answers","ReplyToSessionId":"r-1","SessionId":"s-1","To":"warehouse"}`,
			}}},
		},
		{
			At: topics + ".Subscriptions[1]", Kind: engine.Subscription, Path: "prices/Subscriptions/by.property",
			RulesGiven: true,
			Rules: []engine.Rule{{Name: "region", Filter: engine.Filter{
				Kind: engine.CorrelationFilter, Text: `{"Properties":{"Level":2,"fresh":true,"region":"eu"}}`,
			}}},
		},
		{At: topics + ".Subscriptions[2]", Kind: engine.Subscription, Path: "prices/Subscriptions/everything"},
		{
			At: topics + ".Subscriptions[3]", Kind: engine.Subscription, Path: "prices/Subscriptions/by.sql",
			RulesGiven: true,
			Rules: []engine.Rule{
				{
					Name:   "dear",
					Filter: engine.Filter{Kind: engine.SQLFilter, Text: "sys.Label = 'price' AND amount > 100"},
					Action: "SET sys.To = 'controlling'",
				},
				{Name: "all"},
			},
		},
	}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(definition.Topology{}), cmpopts.IgnoreFields(definition.Entity{}, "Stated")); d != "" {
		t.Error(d)
	}
}

// in wraps what the one namespace contains.
func in(namespace string) string {
	return `{"UserConfig":{"Namespaces":[{` + namespace + `}]}}`
}

func queue(properties string) string {
	return in(`"Queues":[{"Name":"q","Properties":{` + properties + `}}]`)
}

func topic(properties string) string {
	return in(`"Topics":[{"Name":"t","Properties":{` + properties + `}}]`)
}

func rule(properties string) string {
	return in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"r","Properties":{` + properties + `}}]}]}]`)
}

// What is accepted although it is unusual.
func TestReadTolerates(t *testing.T) {
	for name, file := range map[string]string{
		"a byte order mark":          "\xef\xbb\xbf" + in(``),
		"names in another case":      `{"userconfig":{"NAMESPACES":[{"name":"n","queues":[{"name":"q","properties":{"maxdeliverycount":1}}]}],"logging":{"type":"Console"}}}`,
		"null for absent":            in(`"Name":null,"Queues":null,"Topics":[{"Name":"t","Properties":null,"Subscriptions":null}]`),
		"a schema's address":         `{"$schema":"./Config-schema.json","UserConfig":{"Namespaces":[{}]}}`,
		"CONF-26 the shortest lock":  queue(`"LockDuration":"PT5S"`),
		"emulator's shortest window": queue(`"DuplicateDetectionHistoryTimeWindow":"PT5S"`),
		"hosted ranges":              queue(`"DefaultMessageTimeToLive":"P14D","MaxDeliveryCount":2000,"DuplicateDetectionHistoryTimeWindow":"P7D"`),
		"hosted properties":          queue(`"AutoDeleteOnIdle":"PT5M","Status":"SendDisabled","UserMetadata":"ours","MaxSizeInMegabytes":5120`),
		"CONF-13 an older name":      queue(`"EnableDeadLetteringOnMessageExpiration":true`),
		"NAME-1 a name of 260":       in(`"Queues":[{"Name":"` + strings.Repeat("q", 260) + `"}]`),
		"NAME-2 a namespace of 50":   in(`"Name":"` + strings.Repeat("n", 50) + `"`),
		"NAME-5 a tilde":             in(`"Queues":[{"Name":"a~b"}]`),
		"an expression of 1024":      rule(`"FilterType":"sql","SqlFilter":{"SqlExpression":"` + strings.Repeat("x", 1024) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := definition.Read(strings.NewReader(file), definition.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The emulator's ranges hold beside limits that are narrower.
func TestReadEmulatorsRanges(t *testing.T) {
	l := engine.DefaultLimits()
	l.MinLock, l.MaxLock, l.MinTTL, l.MaxTTL = time.Minute, time.Minute, time.Hour, time.Minute
	file := queue(`"LockDuration":"PT5S","DefaultMessageTimeToLive":"PT1H"`)
	if _, err := definition.Read(strings.NewReader(file), definition.Options{Limits: &l}); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	const ns, q = "UserConfig.Namespaces[0]", "UserConfig.Namespaces[0].Queues[0]"
	const r = ns + ".Topics[0].Subscriptions[0].Rules[0]"
	for name, tc := range map[string]struct {
		file string
		want []string // path: beginning of the reason
	}{
		// malformed
		"nothing":                    {"", []string{"The file is empty."}},
		"only a comment":             {"// soon", []string{"The file is empty."}},
		"cut off":                    {`{"UserConfig":`, []string{"line 1, column 14: This is not JSON"}},
		"a stray letter":             {"{\n  // a comment\n  \"UserConfig\": x\n}", []string{"line 3, column 17: This is not JSON"}},
		"more after the end":         {in(``) + "{}", []string{"line 1, column 35: This is not JSON"}},
		"nested too deep":            {strings.Repeat("[", 50) + strings.Repeat("]", 50), []string{"line 1, column 34: This is not JSON: values are nested more than 32 deep."}},
		"a duration in words":        {queue(`"LockDuration":"a minute"`), []string{q + ".Properties.LockDuration: The value for 'LockDuration' is not a duration"}},
		"an empty duration":          {queue(`"LockDuration":" "`), []string{q + ".Properties.LockDuration: The value for 'LockDuration' must not be empty."}},
		"a broken count":             {queue(`"MaxDeliveryCount":2.5`), []string{q + ".Properties.MaxDeliveryCount: The value for 'MaxDeliveryCount' must be a whole number."}},
		"a status of its own":        {queue(`"Status":"Asleep"`), []string{q + ".Properties.Status: The value for 'Status' must be one of"}},
		"a bad forward":              {queue(`"ForwardTo":"a//b"`), []string{q + ".Properties.ForwardTo: The value for 'ForwardTo' is not the path"}},
		"a bad name":                 {in(`"Queues":[{"Name":"/q"}]`), []string{q + ".Name: The name of a queue must not begin or end with '/'"}},
		"a bad subscription name":    {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"a/b"}]}]`), []string{ns + ".Topics[0].Subscriptions[0].Name: The name of a subscription must not contain"}},
		"a bad rule name":            {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"a b","Properties":{"FilterType":"True"}}]}]}]`), []string{r + ".Name: 'a b' cannot be the name of a rule"}},
		"a bad namespace name":       {in(`"Name":"my bus"`), []string{ns + `.Name: "my bus" cannot be the name of a namespace`}},
		"logging elsewhere":          {`{"UserConfig":{"Namespaces":[{}],"Logging":{"Type":"Syslog"}}}`, []string{`UserConfig.Logging.Type: This must be one of ["File" "Console" "File,Console" "Console,File"], not "Syslog".`}},
		"a filter of no kind":        {rule(`"FilterType":"Regex"`), []string{r + `.Properties.FilterType: This must be "Correlation" or "Sql", not "Regex".`}},
		"an empty expression":        {rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":" "}`), []string{r + ".Properties.SqlFilter.SqlExpression: This must not be empty."}},
		"no condition":               {rule(`"FilterType":"Correlation","CorrelationFilter":{"To":""}`), []string{r + ".Properties.CorrelationFilter: A correlation filter needs at least one condition."}},
		"a condition that is a list": {rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"a b":[1]}}`), []string{r + `.Properties.CorrelationFilter.Properties["a b"]: A condition must be a text, number or boolean, not a list.`}},
		"a filter of another kind":   {rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a=1"},"CorrelationFilter":{"To":"x"}`), []string{r + ".Properties.CorrelationFilter: The FilterType is Sql"}},
		"what excludes each other":   {queue(`"EnableExpress":true,"RequiresDuplicateDetection":true`), []string{q + ".Properties.EnableExpress: This cannot be combined"}},

		// out of range
		"a lock too short":    {queue(`"LockDuration":"PT4.999S"`), []string{q + ".Properties.LockDuration: The value for 'LockDuration' must be between PT5S and PT5M."}},
		"a lock too long":     {queue(`"LockDuration":"PT5M1S"`), []string{q + ".Properties.LockDuration: The supplied lock time exceeds the allowed maximum of '5' minutes."}},
		"no delivery":         {queue(`"MaxDeliveryCount":0`), []string{q + ".Properties.MaxDeliveryCount: The value for 'MaxDeliveryCount' must be between 1"}},
		"a window too short":  {queue(`"DuplicateDetectionHistoryTimeWindow":"PT4S"`), []string{q + ".Properties.DuplicateDetectionHistoryTimeWindow: The value"}},
		"idle too short":      {queue(`"AutoDeleteOnIdle":"PT4M59S"`), []string{q + ".Properties.AutoDeleteOnIdle: The value"}},
		"two namespaces":      {`{"UserConfig":{"Namespaces":[{},{}]}}`, []string{"UserConfig.Namespaces: There must be exactly 1 namespace, not 2."}},
		"no namespace":        {`{"UserConfig":{"Namespaces":[]}}`, []string{"UserConfig.Namespaces: There must be exactly 1 namespace, not 0."}},
		"a status not for it": {topic(`"Status":"ReceiveDisabled"`), []string{ns + ".Topics[0].Properties.Status: A topic cannot be ReceiveDisabled."}},

		// too long
		"NAME-1 a name of 261":      {in(`"Queues":[{"Name":"` + strings.Repeat("q", 261) + `"}]`), []string{q + ".Name: The name of a queue has 1 to 260 characters; this one has 261."}},
		"NAME-2 a namespace of 51":  {in(`"Name":"` + strings.Repeat("n", 51) + `"`), []string{ns + ".Name: "}},
		"an expression of 1025":     {rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"` + strings.Repeat("x", 1025) + `"}`), []string{r + ".Properties.SqlFilter.SqlExpression: This has 1025 characters; 1024 are allowed."}},
		"an action of 1025":         {rule(`"FilterType":"True","Action":{"SqlExpression":"` + strings.Repeat("x", 1025) + `"}`), []string{r + ".Properties.Action.SqlExpression: This has 1025 characters; 1024 are allowed."}},
		"metadata of 1025":          {queue(`"UserMetadata":"` + strings.Repeat("x", 1025) + `"`), []string{q + ".Properties.UserMetadata: The value for 'UserMetadata' has at most 1024"}},
		"a file of more than 1 MiB": {in(``) + strings.Repeat(" ", 1<<20), []string{"The file is longer than the 1048576 bytes allowed."}},

		// wrong type
		"a list as the root":      {"[]", []string{"This must be an object, not a list."}},
		"namespaces as an object": {`{"UserConfig":{"Namespaces":{}}}`, []string{"UserConfig.Namespaces: This must be a list, not an object."}},
		"a queue as a text":       {in(`"Queues":["q"]`), []string{q + ": This must be an object, not a text."}},
		"a name as a number":      {in(`"Queues":[{"Name":7}]`), []string{q + ".Name: This must be a text, not a number."}},
		"a count as a text":       {queue(`"MaxDeliveryCount":"3"`), []string{q + ".Properties.MaxDeliveryCount: This must be a number, not a text."}},
		"a switch as a text":      {queue(`"RequiresSession":"false"`), []string{q + ".Properties.RequiresSession: This must be a boolean, not a text."}},
		"a duration as a number":  {queue(`"LockDuration":60`), []string{q + ".Properties.LockDuration: This must be a text, not a number."}},
		"properties as a list":    {in(`"Queues":[{"Name":"q","Properties":[]}]`), []string{q + ".Properties: This must be an object, not a list."}},
		"rules as an object":      {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":{}}]}]`), []string{ns + ".Topics[0].Subscriptions[0].Rules: This must be a list, not an object."}},
		"a rule as a text":        {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":["1=1"]}]}]`), []string{r + ": This must be an object, not a text."}},
		"an action as a text":     {rule(`"FilterType":"True","Action":"SET a=1"`), []string{r + ".Properties.Action: This must be an object, not a text."}},

		// unknown
		"a member nearly known":    {`{"UserConfigs":{},"UserConfig":{"Namespaces":[{}]}}`, []string{"UserConfigs: This is not known; did you mean UserConfig?"}},
		"a member unlike any":      {in(`"Relays":[]`), []string{ns + ".Relays: This is not known here; there are Name, Queues, Topics."}},
		"a property misspelt":      {queue(`"MaxDeliveryCuont":3`), []string{q + ".Properties.MaxDeliveryCuont: This is not known; did you mean MaxDeliveryCount?"}},
		"a property of another":    {topic(`"LockDuration":"PT1M"`), []string{ns + ".Topics[0].Properties.LockDuration: A topic has no LockDuration."}},
		"a very long name":         {`{"UserConfig":{"Namespaces":[{}]},"` + strings.Repeat("x", 1000) + `":1}`, []string{`["` + strings.Repeat("x", 64) + `…"]: This is not known here`}},
		"subscriptions of a queue": {in(`"Queues":[{"Name":"q","Subscriptions":[]}]`), []string{q + ".Subscriptions: This is not known here; there are Name, Properties."}},

		// absent
		"no UserConfig":    {"{}", []string{"UserConfig: This is missing."}},
		"no Namespaces":    {`{"UserConfig":{}}`, []string{"UserConfig.Namespaces: This is missing."}},
		"no queue's name":  {in(`"Queues":[{}]`), []string{q + ".Name: This is missing."}},
		"a name of null":   {in(`"Queues":[{"Name":null}]`), []string{q + ".Name: This is missing."}},
		"no rule's name":   {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Properties":{"FilterType":"True"}}]}]}]`), []string{r + ".Name: This is missing."}},
		"no properties":    {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"r"}]}]}]`), []string{r + ".Properties: This is missing."}},
		"no filter's type": {rule(`"SqlFilter":{"SqlExpression":"a=1"}`), []string{r + ".Properties.FilterType: This is missing."}},
		"no filter":        {rule(`"FilterType":"Correlation"`), []string{r + ".Properties.CorrelationFilter: This is missing"}},
		"no expression":    {rule(`"FilterType":"Sql","SqlFilter":{}`), []string{r + ".Properties.SqlFilter.SqlExpression: This is missing."}},

		// twice
		"a member twice":       {queue(`"LockDuration":"PT1M","lockduration":"PT2M"`), []string{q + ".Properties.lockduration: This is given twice."}},
		"an alias as well":     {queue(`"DeadLetteringOnMessageExpiration":true,"EnableDeadLetteringOnMessageExpiration":false`), []string{q + ".Properties.EnableDeadLetteringOnMessageExpiration: This is given twice."}},
		"a queue twice":        {in(`"Queues":[{"Name":"q"},{"Name":"Q"}]`), []string{ns + ".Queues[1].Name: 'Q' is the name of " + q + " already"}},
		"a queue and a topic":  {in(`"Queues":[{"Name":"q"}],"Topics":[{"Name":"Q"}]`), []string{ns + ".Topics[0].Name: 'Q' is the name of " + q + " already"}},
		"a subscription twice": {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"},{"Name":"S"}]}]`), []string{ns + ".Topics[0].Subscriptions[1].Name: 'S' is the name of " + ns + ".Topics[0].Subscriptions[0] already"}},
		"a rule twice": {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"r","Properties":{"FilterType":"True"}},{"Name":"R","Properties":{"FilterType":"True"}}]}]}]`),
			[]string{ns + ".Topics[0].Subscriptions[0].Rules[1].Name: 'R' is the name of " + r + " already"}},

		// all at once
		"several": {in(`"Queues":[{"Name":"a b","Properties":{"LockDuration":"PT1H","Colour":1}},{"Name":"q","Properties":{"MaxDeliveryCount":0}}],"Topic":[]`), []string{
			ns + ".Topic: This is not known; did you mean Topics?",
			q + ".Name: The name of a queue must not contain ' '",
			q + ".Properties.LockDuration: The supplied lock time",
			q + ".Properties.Colour: This is not known here",
			ns + ".Queues[1].Properties.MaxDeliveryCount: The value",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := definition.Read(strings.NewReader(tc.file), definition.Options{})
			problems, ok := errors.AsType[definition.Problems](err)
			if !ok || !errors.Is(err, engine.ErrArgument) || len(top.Entities) != 0 {
				t.Fatalf("got %v and %+v", err, top)
			}
			for i, p := range problems.Told {
				if i >= len(tc.want) || !strings.HasPrefix(p.String(), tc.want[i]) {
					t.Errorf("problem %d is %q", i, p)
				}
			}
			if len(problems.Told) < len(tc.want) {
				t.Errorf("missing: %q", tc.want[len(problems.Told):])
			}
		})
	}
}

// Numbers of entities are limited before anything is made of them.
func TestReadCounts(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.OtherFiltersPerTopic = 2, 1, 1
	const r = `{"Name":"r","Properties":{"FilterType":"True"}}`
	for name, tc := range map[string]struct{ file, want string }{
		"as many as may be": {in(`"Queues":[{"Name":"a"}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[` + r + `]}]}]`), ""},
		"entities":          {in(`"Queues":[{"Name":"a"},{"Name":"b"}],"Topics":[{"Name":"t"}]`), "UserConfig.Namespaces[0]: There are 3 queues and topics; 2 are allowed."},
		"subscriptions":     {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"},{"Name":"u"}]}]`), "UserConfig.Namespaces[0].Topics[0].Subscriptions: There are 2 subscriptions; a topic may have 1."},
		"rules":             {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[` + r + `,` + strings.Replace(r, `"r"`, `"r2"`, 1) + `]}]}]`), "UserConfig.Namespaces[0].Topics[0].Subscriptions: There are 2 correlation filters; a topic may have 1."},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := definition.Read(strings.NewReader(tc.file), definition.Options{Limits: &l}); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A file of another kind does not answer with a page of problems.
func TestProblemsAreCut(t *testing.T) {
	_, err := definition.Read(strings.NewReader(in(`"Queues":[`+strings.Repeat(`1,`, 999)+`1]`)), definition.Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 50 || !strings.HasSuffix(err.Error(), "and 950 more") {
		t.Errorf("got %v", err)
	}
	// Nor does it take much: what is not told is not put into words.
	wrong := in(`"Queues":[{"Name":"q","Properties":{` + strings.Repeat(`"Colour":0,`, 90_000) + `"Colour":0}}]`)
	mallocs := testing.AllocsPerRun(1, func() { _, err = definition.Read(strings.NewReader(wrong), definition.Options{}) })
	if problems, ok := errors.AsType[definition.Problems](err); !ok || len(problems.Told) != 100 || problems.More != 90_001-100 || mallocs > 200*90_001 {
		t.Errorf("told are %d of %d, with %.0f allocations", len(problems.Told), len(problems.Told)+problems.More, mallocs)
	}
	// What comes of another problem is none, also where that is not told.
	var rules []string
	for i := range 300 {
		rules = append(rules, fmt.Sprintf(`{"Name":"r%d","Properties":{"FilterType":"Correlation","CorrelationFilter":{"Colour":"x"}}}`, i))
	}
	_, err = definition.Read(strings.NewReader(in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[`+strings.Join(rules, ",")+`]}]}]`)), definition.Options{})
	if problems, ok := errors.AsType[definition.Problems](err); !ok || problems.More != 200 {
		t.Errorf("of 300 rules with a problem each: told are %d, and %d more", len(problems.Told), problems.More)
	}
}

func FuzzRead(f *testing.F) {
	sample, err := os.ReadFile("testdata/Config.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	for _, s := range []string{"", "{", `{"UserConfig":{"Namespaces":[{}]}}`, "\xef\xbb\xbf[]", "/*", `{"a":"\ud800"}`, queue(`"ForwardTo":"sb://x"`)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		top, err := definition.Read(strings.NewReader(string(b)), definition.Options{})
		if err != nil {
			if problems, ok := errors.AsType[definition.Problems](err); !ok || len(problems.Told) == 0 {
				t.Fatalf("%v is no list of problems", err)
			}
			return
		}
		// What was read can be carried out, unless the steps say why not.
		steps, err := definition.Steps(nil, top)
		if err != nil {
			return
		}
		ns := empty()
		for _, s := range steps {
			if err := apply(ns, s); err != nil {
				t.Fatalf("%s: %v", s.At, err)
			}
		}
		again, err := definition.Steps(ns.States(0), top)
		if err != nil || len(again) != 0 {
			t.Fatalf("a second time there is %+v to do, %v", again, err)
		}
	})
}
