package amqp

import (
	"slices"
	"strings"

	"mayfly/engine/value"
	"mayfly/web/peers"
)

// kitOf is what a client's open says of its library. The SDKs are known by their
// product and their user agent:
//
//	Go          MSGolangClient               azsdk-go-azservicebus/v1.11.0
//	Python      azure-servicebus             azsdk-python-servicebus/7.14.3 …
//	JavaScript  MSJSClient                   azsdk-js-azureservicebus/7.9.5 …
//	Java        azure-messaging-servicebus   azsdk-java-azure-messaging-servicebus/7.17.20 …
//	.NET        Azure.Messaging.ServiceBus   azsdk-net-Azure.Messaging.ServiceBus/7.20.1 …
func kitOf(all value.Properties) peers.Kit {
	text := func(name string) string {
		v, ok := all.Lookup(name)
		if !ok {
			return ""
		}
		s, ok := v.Str()
		if !ok {
			return ""
		}
		return strings.TrimSpace(printable(s, longestKit))
	}
	k := peers.Kit{Product: text("product"), Version: strings.TrimPrefix(text("version"), "v")}
	agent := text("user-agent")
	if at := strings.Index(agent, "azsdk-"); at > 0 { // "orders-worker azsdk-go-…"
		k.Application, agent = strings.TrimSpace(agent[:at]), agent[at:]
	}
	said := strings.ToLower(k.Product + " " + agent)
	for _, known := range []struct {
		sdk peers.SDK
		by  []string
	}{
		{peers.Go, []string{"msgolangclient", "azsdk-go-"}},
		{peers.Python, []string{"azsdk-python-", "azure-servicebus ", "python-servicebus"}},
		{peers.JavaScript, []string{"msjsclient", "azsdk-js-"}},
		{peers.Java, []string{"azure-messaging-servicebus", "azsdk-java-"}},
		{peers.DotNET, []string{"azsdk-net-", "azure.messaging.servicebus", "msgnet", "microsoft.azure.amqp"}},
	} {
		if slices.ContainsFunc(known.by, func(word string) bool { return strings.Contains(said, word) }) {
			k.SDK = known.sdk
			break
		}
	}
	if k.Version == "" { // "azsdk-go-azservicebus/v1.11.0 (…)"
		if _, rest, ok := strings.Cut(agent, "/"); ok {
			rest, _, _ = strings.Cut(rest, " ")
			k.Version = strings.TrimPrefix(rest, "v")
		}
	}
	platform := []string{text("framework"), text("platform")}
	k.Platform = strings.Join(slices.DeleteFunc(platform, func(s string) bool { return s == "" }), " · ")
	return k
}
