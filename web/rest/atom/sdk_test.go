package atom_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// plain makes an HTTPS-only client speak HTTP.
type plain struct{}

func (plain) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultClient.Do(r)
}

// sdk returns the administration client of the Go SDK.
func (w *world) sdk() *admin.Client {
	w.Helper()
	c, err := admin.NewClientFromConnectionString("Endpoint=sb://"+strings.TrimPrefix(w.URL, "http://")+
		";SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE", &admin.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: plain{}, Retry: policy.RetryOptions{MaxRetries: -1},
	}})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// TestSDK does everything that the Go SDK's administration client can.
func TestSDK(t *testing.T) {
	for name, test := range map[string]func(*world, *admin.Client) error{
		"queues":         sdkQueues,
		"topics, NAME-7": sdkTopics,
		"subscriptions":  sdkSubscriptions,
		"rules":          sdkRules,
		"pages":          sdkPages,
		"runtime, CNT-1": sdkRuntime,
		"errors, ERR-4":  sdkErrors,
		"the namespace":  sdkNamespace,
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{}, nil)
			if err := test(w, w.sdk()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// same compares want and got.
func (w *world) same(want, got any) {
	w.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		w.Errorf("-want +got:\n%s", d)
	}
}

const never = "P10675199DT2H48M5.4775807S"

func sdkQueues(w *world, c *admin.Client) error {
	ctx := w.Context()
	fresh, err := c.CreateQueue(ctx, "fresh", nil)
	if err != nil {
		return err
	}
	w.same(admin.QueueProperties{
		LockDuration: new("PT1M"), MaxSizeInMegabytes: new(int32(1024)), RequiresDuplicateDetection: new(false), RequiresSession: new(false),
		DefaultMessageTimeToLive: new(never), DeadLetteringOnMessageExpiration: new(false), DuplicateDetectionHistoryTimeWindow: new("PT10M"),
		MaxDeliveryCount: new(int32(10)), EnableBatchedOperations: new(true), Status: new(admin.EntityStatusActive), AutoDeleteOnIdle: new(never),
		EnablePartitioning: new(false), MaxMessageSizeInKilobytes: new(int64(256)),
	}, fresh.QueueProperties)

	all := admin.QueueProperties{
		LockDuration: new("PT45S"), MaxSizeInMegabytes: new(int32(4096)), RequiresDuplicateDetection: new(true), RequiresSession: new(true),
		DefaultMessageTimeToLive: new("PT6H"), DeadLetteringOnMessageExpiration: new(true), DuplicateDetectionHistoryTimeWindow: new("PT4H"),
		MaxDeliveryCount: new(int32(100)), EnableBatchedOperations: new(false), Status: new(admin.EntityStatusSendDisabled), AutoDeleteOnIdle: new("PT10M"),
		EnablePartitioning: new(true), ForwardTo: new("sb://any.host/fresh"), ForwardDeadLetteredMessagesTo: new("fresh"), UserMetadata: new("a <b> & \"c\" 'd' ü"),
		AuthorizationRules: []admin.AuthorizationRule{
			{AccessRights: []admin.AccessRight{admin.AccessRightListen, admin.AccessRightSend, admin.AccessRightManage}, KeyName: new("own"), PrimaryKey: new("one"), SecondaryKey: new("two")},
			{
				AccessRights: []admin.AccessRight{admin.AccessRightSend}, KeyName: new("timed"), PrimaryKey: new("three"), SecondaryKey: new("four"),
				CreatedTime: new(time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)), ModifiedTime: new(time.Date(2026, 2, 2, 3, 4, 5, 0, time.UTC)),
			},
		},
	}
	made, err := c.CreateQueue(ctx, "txt/.-_123", &admin.CreateQueueOptions{Properties: &all})
	if err != nil {
		return err
	}
	all.MaxSizeInMegabytes, all.MaxMessageSizeInKilobytes = new(int32(16*4096)), new(int64(256))
	w.same(all, made.QueueProperties)
	got, err := c.GetQueue(ctx, "TXT/.-_123", nil)
	if err != nil {
		return err
	}
	w.same(all, got.QueueProperties)

	updated, err := c.UpdateQueue(ctx, "txt/.-_123", got.QueueProperties, nil)
	if err != nil {
		return err
	}
	w.same(all, updated.QueueProperties)
	if got := w.broker.State("txt/.-_123").Config.MaxSizeInMegabytes; got != 4096 {
		w.Errorf("an unchanged update results in %d MB", got)
	}
	_, err = c.UpdateQueue(ctx, "fresh", admin.QueueProperties{MaxDeliveryCount: new(int32(3))}, nil)
	if err != nil {
		return err
	}
	_, err = c.DeleteQueue(ctx, "txt/.-_123", nil)
	if err != nil {
		return err
	}
	gone, err := c.GetQueue(ctx, "txt/.-_123", nil)
	if gone != nil || err != nil {
		w.Errorf("got %v, %v for a deleted entity", gone, err)
	}
	return nil
}

func sdkTopics(w *world, c *admin.Client) error {
	ctx := w.Context()
	fresh, err := c.CreateTopic(ctx, "fresh", nil)
	if err != nil {
		return err
	}
	w.same(admin.TopicProperties{
		MaxSizeInMegabytes: new(int32(1024)), RequiresDuplicateDetection: new(false), DefaultMessageTimeToLive: new(never),
		DuplicateDetectionHistoryTimeWindow: new("PT10M"), EnableBatchedOperations: new(true), Status: new(admin.EntityStatusActive),
		AutoDeleteOnIdle: new(never), EnablePartitioning: new(false), SupportOrdering: new(true), MaxMessageSizeInKilobytes: new(int64(256)),
	}, fresh.TopicProperties)
	all := admin.TopicProperties{
		MaxSizeInMegabytes: new(int32(2048)), RequiresDuplicateDetection: new(true), DefaultMessageTimeToLive: new("PT6H"),
		DuplicateDetectionHistoryTimeWindow: new("PT4H"), EnableBatchedOperations: new(false), Status: new(admin.EntityStatusDisabled),
		AutoDeleteOnIdle: new("PT7M"), EnablePartitioning: new(false), SupportOrdering: new(true), UserMetadata: new("ours"),
		MaxMessageSizeInKilobytes: new(int64(256)),
	}
	made, err := c.CreateTopic(ctx, "all", &admin.CreateTopicOptions{Properties: &all})
	if err != nil {
		return err
	}
	w.same(all, made.TopicProperties)
	all.Status, all.UserMetadata = new(admin.EntityStatusActive), nil
	updated, err := c.UpdateTopic(ctx, "all", all, nil)
	if err != nil {
		return err
	}
	w.same(all, updated.TopicProperties)
	got, err := c.GetTopic(ctx, "all", nil)
	if err != nil {
		return err
	}
	w.same(all, got.TopicProperties)
	if a := w.Want(200, "GET", "/all", ""); !strings.Contains(a.Body, "<TopicDescription") || strings.Contains(a.Body, "QueueDescription") { // NAME-7: by which .NET tells that it is not a queue
		w.Errorf("a topic read as a queue is %s", a.Body)
	}
	if _, err := c.DeleteTopic(ctx, "all", nil); err != nil {
		return err
	}
	gone, err := c.GetTopic(ctx, "all", nil)
	if gone != nil || err != nil {
		w.Errorf("got %v, %v for a deleted entity", gone, err)
	}
	return nil
}

func sdkSubscriptions(w *world, c *admin.Client) error {
	ctx := w.Context()
	if _, err := c.CreateTopic(ctx, "t", nil); err != nil {
		return err
	}
	fresh, err := c.CreateSubscription(ctx, "t", "fresh", nil)
	if err != nil {
		return err
	}
	w.same(admin.SubscriptionProperties{
		LockDuration: new("PT1M"), RequiresSession: new(false), DefaultMessageTimeToLive: new(never), DeadLetteringOnMessageExpiration: new(false),
		EnableDeadLetteringOnFilterEvaluationExceptions: new(true), MaxDeliveryCount: new(int32(10)), Status: new(admin.EntityStatusActive),
		AutoDeleteOnIdle: new(never), EnableBatchedOperations: new(true),
	}, fresh.SubscriptionProperties)
	all := admin.SubscriptionProperties{
		LockDuration: new("PT45S"), RequiresSession: new(true), DefaultMessageTimeToLive: new("PT6H"), DeadLetteringOnMessageExpiration: new(true),
		EnableDeadLetteringOnFilterEvaluationExceptions: new(false), MaxDeliveryCount: new(int32(100)), Status: new(admin.EntityStatusReceiveDisabled),
		AutoDeleteOnIdle: new("PT10M"), ForwardTo: new("https://any.host/t"), ForwardDeadLetteredMessagesTo: new("t"), EnableBatchedOperations: new(false),
		UserMetadata: new("ours"),
	}
	given := all
	given.DefaultRule = &admin.RuleProperties{Name: "own", Filter: &admin.SQLFilter{Expression: "a = @A", Parameters: map[string]any{"@A": int64(5)}}, Action: &admin.SQLAction{Expression: "SET b = 1"}}
	made, err := c.CreateSubscription(ctx, "t", "all", &admin.CreateSubscriptionOptions{Properties: &given})
	if err != nil {
		return err
	}
	all.Status = new(admin.EntityStatusActive) // this client does not send it
	w.same(all, made.SubscriptionProperties)
	got, err := c.GetRule(ctx, "t", "all", "own", nil)
	if err != nil {
		return err
	}
	w.same(*given.DefaultRule, got.RuleProperties)
	all.MaxDeliveryCount, all.ForwardTo = new(int32(7)), new("t")
	updated, err := c.UpdateSubscription(ctx, "t", "all", all, nil)
	if err != nil {
		return err
	}
	w.same(all, updated.SubscriptionProperties)
	if _, err := c.DeleteSubscription(ctx, "t", "all", nil); err != nil {
		return err
	}
	gone, err := c.GetSubscription(ctx, "t", "all", nil)
	if gone != nil || err != nil {
		w.Errorf("got %v, %v for a deleted entity", gone, err)
	}
	return nil
}

func sdkRules(w *world, c *admin.Client) error {
	ctx := w.Context()
	if _, err := c.CreateTopic(ctx, "t", nil); err != nil {
		return err
	}
	if _, err := c.CreateSubscription(ctx, "t", "s", nil); err != nil {
		return err
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	values := map[string]any{"@s": "a <b> & 'c'", "@i": int64(1 << 40), "@f": 1.5, "@b": true, "@t": at}
	properties := map[string]any{"s": " spaces ", "i": int64(-7), "f": -0.25, "b": false, "t": at}
	for name, want := range map[string]admin.RuleProperties{
		"true":        {Filter: &admin.TrueFilter{}},
		"false":       {Filter: &admin.FalseFilter{}},
		"sql":         {Filter: &admin.SQLFilter{Expression: "a < 5 AND b <> 'x & y'"}},
		"parameters":  {Filter: &admin.SQLFilter{Expression: "a = @s OR b = @i OR c = @f OR d = @b OR e = @t", Parameters: values}, Action: &admin.SQLAction{Expression: "SET a = @own", Parameters: map[string]any{"@own": "x"}}},
		"action":      {Filter: &admin.TrueFilter{}, Action: &admin.SQLAction{Expression: "SET a = @x; REMOVE b", Parameters: map[string]any{"@x": int64(1)}}},
		"correlation": {Filter: &admin.CorrelationFilter{ApplicationProperties: properties}},
		"every condition": {Filter: &admin.CorrelationFilter{
			ContentType: new("c"), CorrelationID: new("ci"), MessageID: new("m"), ReplyTo: new("r"), ReplyToSessionID: new("rs"),
			SessionID: new("s"), Subject: new("su"), To: new("t"), ApplicationProperties: map[string]any{"n": int64(1)},
		}, Action: &admin.SQLAction{Expression: "SET sys.Label = 'x'"}},
	} {
		want.Name = strings.ReplaceAll(name, " ", "-")
		made, err := c.CreateRule(ctx, "t", "s", &admin.CreateRuleOptions{Name: &want.Name, Filter: want.Filter, Action: want.Action})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.same(want, made.RuleProperties)
		got, err := c.GetRule(ctx, "t", "s", want.Name, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.same(want, got.RuleProperties)
		got.Filter = &admin.SQLFilter{Expression: "changed = 1"}
		updated, err := c.UpdateRule(ctx, "t", "s", got.RuleProperties)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		w.same(got.RuleProperties, updated.RuleProperties)
	}
	names, err := ruleNames(ctx, c)
	if err != nil {
		return err
	}
	w.same([]string{"$Default", "action", "correlation", "every-condition", "false", "parameters", "sql", "true"}, names)
	if _, err := c.UpdateRule(ctx, "t", "s", admin.RuleProperties{Name: "$Default", Filter: &admin.FalseFilter{}}); err != nil {
		return err
	}
	for _, name := range names {
		if _, err := c.DeleteRule(ctx, "t", "s", name, nil); err != nil {
			return err
		}
	}
	if names, err := ruleNames(ctx, c); err != nil || len(names) > 0 {
		w.Errorf("the remaining rules are %v, %v", names, err)
	}
	gone, err := c.GetRule(ctx, "t", "s", "sql", nil)
	if gone != nil || err != nil {
		w.Errorf("got %v, %v for a deleted entity", gone, err)
	}
	return nil
}

func ruleNames(ctx context.Context, c *admin.Client) (names []string, err error) {
	for pager := c.NewListRulesPager("t", "s", &admin.ListRulesOptions{MaxPageSize: 3}); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			names = append(names, r.Name)
		}
	}
	return names, nil
}

// gather returns the names on all pages.
func gather[T any](ctx context.Context, pager *runtime.Pager[T], of func(T) []string) (names []string, pages int, err error) {
	for ; pager.More(); pages++ {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, 0, err
		}
		names = append(names, of(page)...)
	}
	return names, pages, nil
}

func sdkPages(w *world, c *admin.Client) error {
	ctx := w.Context()
	var queues, topics, subs []string
	for i := range 205 {
		name := fmt.Sprintf("q%03d", i)
		if _, err := w.broker.Create(ctx, engine.Queue, engine.Path(name), engine.Config{}, ""); err != nil {
			return err
		}
		queues = append(queues, name)
	}
	for i := range 7 {
		topic, sub := fmt.Sprint("t", i), fmt.Sprint("s", i)
		if _, err := c.CreateTopic(ctx, topic, nil); err != nil {
			return err
		}
		if _, err := c.CreateSubscription(ctx, "t0", sub, nil); err != nil {
			return err
		}
		topics, subs = append(topics, topic), append(subs, sub)
	}
	for _, size := range []int32{0, 50, 100} {
		got, pages, err := gather(ctx, c.NewListQueuesPager(&admin.ListQueuesOptions{MaxPageSize: size}), func(p admin.ListQueuesResponse) (names []string) {
			for _, q := range p.Queues {
				names = append(names, q.QueueName)
			}
			return names
		})
		if err != nil || !slices.Equal(got, queues) {
			w.Errorf("%d queues on %d pages of %d, %v", len(got), pages, size, err)
		}
	}
	got, pages, err := gather(ctx, c.NewListTopicsPager(&admin.ListTopicsOptions{MaxPageSize: 3}), func(p admin.ListTopicsResponse) (names []string) {
		for _, t := range p.Topics {
			names = append(names, t.TopicName)
		}
		return names
	})
	if err != nil || !slices.Equal(got, topics) {
		w.Errorf("topics %v on %d pages, %v", got, pages, err)
	}
	got, pages, err = gather(ctx, c.NewListSubscriptionsPager("t0", &admin.ListSubscriptionsOptions{MaxPageSize: 3}), func(p admin.ListSubscriptionsResponse) (names []string) {
		for _, s := range p.Subscriptions {
			names = append(names, s.SubscriptionName)
		}
		return names
	})
	if err != nil || !slices.Equal(got, subs) {
		w.Errorf("subscriptions %v on %d pages, %v", got, pages, err)
	}
	return nil
}

func sdkRuntime(w *world, c *admin.Client) error {
	ctx := w.Context()
	for p, kind := range map[engine.Path]engine.EntityKind{"q": engine.Queue, "t": engine.Topic} {
		if _, err := w.broker.Create(ctx, kind, p, engine.Config{}, ""); err != nil {
			return err
		}
	}
	if _, err := c.CreateSubscription(ctx, "t", "s", nil); err != nil {
		return err
	}
	if q, err := c.GetQueueRuntimeProperties(ctx, "q", nil); err != nil || !q.AccessedAt.IsZero() || q.CreatedAt.IsZero() || q.UpdatedAt.IsZero() {
		w.Errorf("a new queue: %+v, %v", q, err)
	}
	if s, err := c.GetSubscriptionRuntimeProperties(ctx, "t", "s", nil); err != nil || s.AccessedAt != s.CreatedAt || s.CreatedAt.IsZero() {
		w.Errorf("a new subscription: %+v, %v", s, err)
	}
	for _, p := range []engine.Path{"q", "t"} {
		if _, err := w.broker.Send(ctx, p, []broker.Outgoing{
			{Content: engine.Content{MessageID: "a"}}, {Content: engine.Content{MessageID: "b"}}, {Content: engine.Content{MessageID: "c"}},
			{Content: engine.Content{MessageID: "later", ScheduledFor: engine.At(time.Now().Add(time.Hour))}},
		}, ""); err != nil {
			return err
		}
	}
	for _, p := range []engine.Path{"q", "t/Subscriptions/s"} {
		got, err := w.broker.Receive(ctx, broker.ReceiveRequest{Path: p, Max: 2, Mode: engine.PeekLock})
		if err != nil {
			return err
		}
		if _, err := w.broker.Settle(ctx, engine.Settlement{Token: got[0].Token(), Outcome: engine.DeadLetter}); err != nil {
			return err
		}
	}
	q, err := c.GetQueueRuntimeProperties(ctx, "q", nil)
	if err != nil {
		return err
	}
	if q.TotalMessageCount != 4 || q.ActiveMessageCount != 2 || q.DeadLetterMessageCount != 1 || q.ScheduledMessageCount != 1 ||
		q.TransferMessageCount != 0 || q.TransferDeadLetterMessageCount != 0 || q.SizeInBytes != w.broker.State("q").SizeInBytes || q.SizeInBytes == 0 || q.AccessedAt.IsZero() {
		w.Errorf("the queue: %+v", q)
	}
	s, err := c.GetSubscriptionRuntimeProperties(ctx, "t", "s", nil)
	if err != nil {
		return err
	}
	if s.TotalMessageCount != 3 || s.ActiveMessageCount != 2 || s.DeadLetterMessageCount != 1 {
		w.Errorf("the subscription: %+v", s)
	}
	if _, err := c.CreateRule(ctx, "t", "s", &admin.CreateRuleOptions{Name: new("c"), Filter: &admin.CorrelationFilter{To: new("x")}}); err != nil {
		return err
	}
	top, err := c.GetTopicRuntimeProperties(ctx, "t", nil)
	if err != nil {
		return err
	}
	if top.ScheduledMessageCount != 1 || top.SubscriptionCount != 1 || top.SizeInBytes == 0 || top.SQLFilterCount != 1 || top.CorrelationFilterCount != 1 || top.AccessedAt.IsZero() {
		w.Errorf("the topic: %+v", top)
	}
	return nil
}

func sdkErrors(w *world, c *admin.Client) error {
	ctx := w.Context()
	if _, err := c.CreateQueue(ctx, "q", nil); err != nil {
		return err
	}
	_, twice := c.CreateQueue(ctx, "Q", nil)
	_, also := c.CreateTopic(ctx, "q", nil) // NAME-7
	_, updated := c.UpdateQueue(ctx, "missing", admin.QueueProperties{}, nil)
	_, deleted := c.DeleteQueue(ctx, "missing", nil)
	_, lock := c.CreateQueue(ctx, "long", &admin.CreateQueueOptions{Properties: &admin.QueueProperties{LockDuration: new("PT5M1S")}})
	_, session := c.UpdateQueue(ctx, "q", admin.QueueProperties{RequiresSession: new(true)}, nil)
	_, parent := c.CreateSubscription(ctx, "missing", "s", nil)
	for name, tc := range map[string]struct {
		err    error
		status int
		text   string
	}{
		"twice":              {twice, 409, "SubCode=40900"},
		"of another kind":    {also, 409, "SubCode=40900"},
		"update of nothing":  {updated, 404, "SubCode=40400"},
		"deletion of none":   {deleted, 404, "SubCode=40400"},
		"a lock too long":    {lock, 400, "The supplied lock time exceeds the allowed maximum of '5' minutes."},
		"what is fixed":      {session, 400, "The value for the RequiresSession property of an existing Queue cannot be changed."},
		"of a missing topic": {parent, 404, "SubCode=40400"},
	} {
		wrong, ok := errors.AsType[*azcore.ResponseError](tc.err)
		if !ok || wrong.StatusCode != tc.status || !strings.Contains(tc.err.Error(), tc.text) {
			w.Errorf("%s: %v", name, tc.err)
		}
	}
	return nil
}

func sdkNamespace(w *world, c *admin.Client) error {
	n, err := c.GetNamespaceProperties(w.Context(), nil)
	if err != nil {
		return err
	}
	if n.Name != "default" || n.SKU != "Standard" || n.MessagingUnits != nil || n.CreatedTime.IsZero() {
		w.Errorf("got %+v", n)
	}
	return nil
}
