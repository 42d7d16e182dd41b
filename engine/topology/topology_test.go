package topology_test

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
	"mayfly/engine/longtest"
	"mayfly/engine/topology"
)

// A file of the emulator's form is loaded unchanged. Missing properties get the hosted
// service's defaults.
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
	got, err := topology.Read(f, topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const topics = "UserConfig.Namespaces[0].Topics[0]"
	want := topology.Topology{Namespace: "sbemulatorns", Entities: []topology.Entity{
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
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(topology.Topology{}), cmpopts.IgnoreFields(topology.Entity{}, "Stated")); d != "" {
		t.Error(d)
	}
}

// in wraps the contents of a file's only namespace.
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

// TestReadTolerates checks that unusual but valid files are accepted.
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
		"NAME-5 ends": in(`"Queues":[{"Name":"_a-"},{"Name":"a."}],"Topics":[{"Name":"MassTransit/Fault--Shop/Order--",` +
			`"Subscriptions":[{"Name":"_s~","Rules":[{"Name":"r__","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"1=1"}}}]}]}]`),
		"an expression of 1024": rule(`"FilterType":"sql","SqlFilter":{"SqlExpression":"` + strings.Repeat("x", 1024) + `"}`),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := topology.Read(strings.NewReader(file), topology.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// The emulator's ranges are accepted in addition to narrower limits.
func TestReadEmulatorsRanges(t *testing.T) {
	l := engine.DefaultLimits()
	l.MinLock, l.MaxLock, l.MinTTL, l.MaxTTL = time.Minute, time.Minute, time.Hour, time.Minute
	file := queue(`"LockDuration":"PT5S","DefaultMessageTimeToLive":"PT1H"`)
	if _, err := topology.Read(strings.NewReader(file), topology.Options{Limits: &l}); err != nil {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	const ns, q = "UserConfig.Namespaces[0]", "UserConfig.Namespaces[0].Queues[0]"
	const r = ns + ".Topics[0].Subscriptions[0].Rules[0]"
	for name, tc := range map[string]struct {
		file string
		want []string // the path and the beginning of the reason
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
		"a condition that is a list": {rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"a b":[1]}}`), []string{r + `.Properties.CorrelationFilter.Properties["a b"]: A condition must be a string, number or boolean, not a list.`}},
		"a template":                 {`{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0","resources":[]}`, []string{"This is an Azure Resource Manager template"}},
		"a template, no schema":      {`{"contentVersion":"1.0.0.0","resources":[]}`, []string{"This is an Azure Resource Manager template"}},
		"what excludes each other":   {queue(`"EnableExpress":true,"RequiresDuplicateDetection":true`), []string{q + ".Properties.EnableExpress: This cannot be combined"}},

		// out of range
		"a lock too short":    {queue(`"LockDuration":"PT4.999S"`), []string{q + ".Properties.LockDuration: The value for 'LockDuration' must be between PT5S and PT5M."}},
		"a lock too long":     {queue(`"LockDuration":"PT5M1S"`), []string{q + ".Properties.LockDuration: The supplied lock time exceeds the allowed maximum of '5' minutes."}},
		"no delivery":         {queue(`"MaxDeliveryCount":0`), []string{q + ".Properties.MaxDeliveryCount: The value for 'MaxDeliveryCount' must be between 1"}},
		"a window too short":  {queue(`"DuplicateDetectionHistoryTimeWindow":"PT4S"`), []string{q + ".Properties.DuplicateDetectionHistoryTimeWindow: The value"}},
		"idle too short":      {queue(`"AutoDeleteOnIdle":"PT4M59S"`), []string{q + ".Properties.AutoDeleteOnIdle: The value"}},
		"two namespaces":      {`{"UserConfig":{"Namespaces":[{},{}]}}`, []string{"UserConfig.Namespaces: The file must have exactly 1 namespace, not 2."}},
		"no namespace":        {`{"UserConfig":{"Namespaces":[]}}`, []string{"UserConfig.Namespaces: The file must have exactly 1 namespace, not 0."}},
		"a status not for it": {topic(`"Status":"ReceiveDisabled"`), []string{ns + ".Topics[0].Properties.Status: A topic cannot be ReceiveDisabled."}},

		// too long
		"NAME-1 a name of 261":            {in(`"Queues":[{"Name":"` + strings.Repeat("q", 261) + `"}]`), []string{q + ".Name: The name of a queue must have 1 to 260 characters, not 261."}},
		"a namespace that ends in a dash": {in(`"Name":"bus-"`), []string{ns + `.Name: "bus-" cannot be the name of a namespace`}},
		"NAME-2 a namespace of 51":        {in(`"Name":"` + strings.Repeat("n", 51) + `"`), []string{ns + ".Name: "}},
		"an expression of 1025":           {rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"` + strings.Repeat("x", 1025) + `"}`), []string{r + ".Properties.SqlFilter.SqlExpression: This has 1025 characters; the maximum is 1024."}},
		"an action of 1025":               {rule(`"FilterType":"True","Action":{"SqlExpression":"` + strings.Repeat("x", 1025) + `"}`), []string{r + ".Properties.Action.SqlExpression: This has 1025 characters; the maximum is 1024."}},
		"metadata of 1025":                {queue(`"UserMetadata":"` + strings.Repeat("x", 1025) + `"`), []string{q + ".Properties.UserMetadata: The value for 'UserMetadata' must have at most 1024"}},
		"a file of more than 1 MiB":       {in(``) + strings.Repeat(" ", 1<<20), []string{"The file is longer than the 1048576 bytes allowed."}},

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

		// unknown members beside missing ones
		"a member nearly known": {`{"UserConfigs":{}}`, []string{`UserConfig: This is missing; is "UserConfigs" a misspelling of it?`}},

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
		"a member twice":       {queue(`"LockDuration":"PT1M","lockduration":"PT2M"`), []string{q + ".Properties.lockduration: This is set twice."}},
		"an alias as well":     {queue(`"DeadLetteringOnMessageExpiration":true,"EnableDeadLetteringOnMessageExpiration":false`), []string{q + ".Properties.EnableDeadLetteringOnMessageExpiration: This is set twice."}},
		"a queue twice":        {in(`"Queues":[{"Name":"q"},{"Name":"Q"}]`), []string{ns + ".Queues[1].Name: 'Q' is already the name of " + q}},
		"a queue and a topic":  {in(`"Queues":[{"Name":"q"}],"Topics":[{"Name":"Q"}]`), []string{ns + ".Topics[0].Name: 'Q' is already the name of " + q}},
		"a subscription twice": {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"},{"Name":"S"}]}]`), []string{ns + ".Topics[0].Subscriptions[1].Name: 'S' is already the name of " + ns + ".Topics[0].Subscriptions[0]"}},
		"a rule twice": {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[{"Name":"r","Properties":{"FilterType":"True"}},{"Name":"R","Properties":{"FilterType":"True"}}]}]}]`),
			[]string{ns + ".Topics[0].Subscriptions[0].Rules[1].Name: 'R' is already the name of " + r}},

		// all at once
		"several": {in(`"Queues":[{"Name":"a b","Properties":{"LockDuration":"PT1H","Colour":1}},{"Name":"q","Properties":{"MaxDeliveryCount":0}}],"Topic":[]`), []string{
			q + ".Name: The name of a queue must not contain ' '",
			q + ".Properties.LockDuration: The supplied lock time",
			ns + ".Queues[1].Properties.MaxDeliveryCount: The value",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := topology.Read(strings.NewReader(tc.file), topology.Options{})
			problems, ok := errors.AsType[topology.Problems](err)
			if !ok || !errors.Is(err, engine.ErrArgument) {
				t.Fatalf("got %v and %+v", err, top)
			}
			for i, p := range problems.First {
				if i >= len(tc.want) || !strings.HasPrefix(p.String(), tc.want[i]) {
					t.Errorf("problem %d is %q", i, p)
				}
			}
			if len(problems.First) < len(tc.want) {
				t.Errorf("missing: %q", tc.want[len(problems.First):])
			}
		})
	}
}

// EMU-8: unknown members are ignored with a warning; the emulator ignores them too.
func TestReadWarns(t *testing.T) {
	const ns, q = "UserConfig.Namespaces[0]", "UserConfig.Namespaces[0].Queues[0]"
	const r = ns + ".Topics[0].Subscriptions[0].Rules[0]"
	for name, tc := range map[string]struct {
		file string
		want []string
	}{
		"EMU-8 a level of the log":       {`{"UserConfig":{"Namespaces":[{}],"Logging":{"Type":"File","Level":"Debug"}}}`, []string{"UserConfig.Logging.Level: Unknown, so this is ignored. Choose from Type."}},
		"EMU-8 a comment":                {`{"_comment":"ours","UserConfig":{"Namespaces":[{"_comment":1}]}}`, []string{"_comment: Unknown, so this is ignored", ns + "._comment: Unknown, so this is ignored"}},
		"EMU-8 properties of namespaces": {in(`"Properties":{"Sku":"Premium"}`), []string{ns + ".Properties: Unknown, so this is ignored. Choose from Name, Queues, Topics."}},
		"EMU-8 a member nearly known":    {in(`"Topic":[]`), []string{ns + ".Topic: Unknown, so this is ignored. Did you mean Topics?"}},
		"EMU-8 a property misspelt":      {queue(`"MaxDeliveryCuont":3`), []string{q + ".Properties.MaxDeliveryCuont: Unknown, so this is ignored. Did you mean MaxDeliveryCount?"}},
		"EMU-8 a property of another":    {topic(`"LockDuration":"PT1M"`), []string{ns + ".Topics[0].Properties.LockDuration: A topic has no LockDuration, so this is ignored."}},
		"EMU-8 a template's property":    {topic(`"EnableFilteringMessagesBeforePublishing":true`), []string{ns + ".Topics[0].Properties.EnableFilteringMessagesBeforePublishing: This has no effect here"}},
		"EMU-8 a very long name":         {`{"UserConfig":{"Namespaces":[{}]},"` + strings.Repeat("x", 1000) + `":1}`, []string{`["` + strings.Repeat("x", 64) + `…"]: Unknown, so this is ignored`}},
		"EMU-8 subscriptions of a queue": {in(`"Queues":[{"Name":"q","Subscriptions":[]}]`), []string{q + ".Subscriptions: Unknown, so this is ignored. Choose from Name, Properties."}},
		"EMU-8 filters of both kinds":    {rule(`"FilterType":"Sql","SqlFilter":{"SqlExpression":"a=1"},"CorrelationFilter":{"To":"x"}`), []string{r + ".Properties.CorrelationFilter: The FilterType is Sql, so this is ignored."}},
		"EMU-8 the other kind":           {rule(`"FilterType":"Sql","CorrelationFilter":{"To":"x"}`), []string{r + ".Properties.FilterType: This is Sql, but there is only a CorrelationFilter, which is used."}},
		"EMU-8 a condition":              {rule(`"FilterType":"Correlation","CorrelationFilter":{"To":"x","Labels":"y"}`), []string{r + ".Properties.CorrelationFilter.Labels: Unknown, so this is ignored. Did you mean Label?"}},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := topology.Read(strings.NewReader(tc.file), topology.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range top.Warnings.First {
				if i >= len(tc.want) || !strings.HasPrefix(w.String(), tc.want[i]) {
					t.Errorf("warning %d is %q", i, w)
				}
			}
			if len(top.Warnings.First) < len(tc.want) {
				t.Errorf("missing: %q", tc.want[len(top.Warnings.First):])
			}
		})
	}
}

// EMU-8: destinations are checked together with everything else.
func TestReadAllAtOnce(t *testing.T) {
	top, err := topology.Read(strings.NewReader(in(`"Queues":[{"Name":"a","Properties":{"ForwardTo":"nowhere","LockDuration":60}},{"Name":"b","Properties":{"ForwardTo":"a"}}]`)), topology.Options{})
	problems, ok := errors.AsType[topology.Problems](err)
	if !ok {
		t.Fatal(err)
	}
	const at = "UserConfig.Namespaces[0].Queues[0].Properties."
	wrong := at + "LockDuration: This must be a text, not a number.\n" + at
	if got, want := problems.With(top.Destinations()).Error(), wrong+"ForwardTo: The queue or topic 'nowhere' is not in the file."; got != want {
		t.Errorf("got %s", got)
	}
	_, more := topology.Steps(nil, top)
	if got, want := problems.With(more).Error(), wrong+"ForwardTo: The queue or topic 'nowhere' is neither in the file nor in the namespace."; got != want {
		t.Errorf("got %s", got)
	}
	if got := problems.With(errors.New("other")).Error(); strings.Contains(got, "other") {
		t.Errorf("got %s", got)
	}
}

// The number of entities is checked before any is created.
func TestReadCounts(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.OtherFiltersPerTopic = 2, 1, 1
	const r = `{"Name":"r","Properties":{"FilterType":"True"}}`
	for name, tc := range map[string]struct{ file, want string }{
		"as many as may be": {in(`"Queues":[{"Name":"a"}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[` + r + `]}]}]`), ""},
		"entities":          {in(`"Queues":[{"Name":"a"},{"Name":"b"}],"Topics":[{"Name":"t"}]`), "UserConfig.Namespaces[0]: The file has 3 queues and topics; the maximum is 2."},
		"subscriptions":     {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"},{"Name":"u"}]}]`), "UserConfig.Namespaces[0].Topics[0].Subscriptions: The topic has 2 subscriptions; the maximum is 1."},
		"rules":             {in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[` + r + `,` + strings.Replace(r, `"r"`, `"r2"`, 1) + `]}]}]`), "UserConfig.Namespaces[0].Topics[0].Subscriptions: The topic has 2 correlation filters; the maximum is 1."},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := topology.Read(strings.NewReader(tc.file), topology.Options{Limits: &l}); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The error of a file with many problems lists the first 50 and the number of the others.
func TestProblemsAreCut(t *testing.T) {
	_, err := topology.Read(strings.NewReader(in(`"Queues":[`+strings.Repeat(`1,`, 999)+`1]`)), topology.Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 50 || !strings.HasSuffix(err.Error(), "and 950 more") {
		t.Errorf("got %v", err)
	}
	// Problems that are not reported are not formatted, so they cost little.
	many := longtest.Reduced(t, 60_000, 9_000)
	wrong := in(`"Queues":[{"Name":"q","Properties":{` + strings.Repeat(`"LockDuration":0,`, many) + `"LockDuration":0}}]`)
	mallocs := testing.AllocsPerRun(1, func() { _, err = topology.Read(strings.NewReader(wrong), topology.Options{}) })
	if problems, ok := errors.AsType[topology.Problems](err); !ok || len(problems.First) != 100 || problems.More != many+1-100 || mallocs > float64(200*(many+1)) {
		t.Errorf("%d of %d problems are reported, with %.0f allocations: %.200v", len(problems.First), len(problems.First)+problems.More, mallocs, err)
	}
	// A problem that follows from another is not counted, even if the other is not reported.
	var rules []string
	for i := range 300 {
		rules = append(rules, fmt.Sprintf(`{"Name":"r%d","Properties":{"FilterType":"Correlation","CorrelationFilter":{"To":1}}}`, i))
	}
	_, err = topology.Read(strings.NewReader(in(`"Topics":[{"Name":"t","Subscriptions":[{"Name":"s","Rules":[`+strings.Join(rules, ",")+`]}]}]`)), topology.Options{})
	if problems, ok := errors.AsType[topology.Problems](err); !ok || problems.More != 200 {
		t.Errorf("of 300 rules with a problem each, %d are reported, and %d more", len(problems.First), problems.More)
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
		top, err := topology.Read(strings.NewReader(string(b)), topology.Options{})
		if err != nil {
			if problems, ok := errors.AsType[topology.Problems](err); !ok || len(problems.First) == 0 {
				t.Fatalf("%v is not a Problems", err)
			}
			return
		}
		// A topology can be applied, unless the steps return problems.
		steps, err := topology.Steps(nil, top)
		if err != nil {
			return
		}
		ns := empty()
		for _, s := range steps {
			if err := apply(ns, s); err != nil {
				t.Fatalf("%s: %v", s.At, err)
			}
		}
		again, err := topology.Steps(ns.States(0), top)
		if err != nil || len(again) != 0 {
			t.Fatalf("a second time there are steps %+v, %v", again, err)
		}
	})
}
