package amqp

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mayfly/engine/value"
	"mayfly/web/connections"
)

// libraryOf returns the library that a client's open describes. The SDKs are recognised by
// their product and their user agent:
//
//	Go          MSGolangClient               azsdk-go-azservicebus/v1.11.0
//	Python      azure-servicebus             azsdk-python-servicebus/7.14.3 …
//	JavaScript  MSJSClient                   azsdk-js-azureservicebus/7.9.5 …
//	Java        azure-messaging-servicebus   azsdk-java-azure-messaging-servicebus/7.17.20 …
//	.NET        Azure.Messaging.ServiceBus   azsdk-net-Azure.Messaging.ServiceBus/7.20.1 …
func libraryOf(all value.Properties) connections.Library {
	text := func(name string) string {
		v, ok := all.Lookup(name)
		if !ok {
			return ""
		}
		s, ok := v.Str()
		if !ok {
			return ""
		}
		return strings.TrimSpace(printable(s, maxLibraryText))
	}
	k := connections.Library{Product: text("product"), Version: strings.TrimPrefix(text("version"), "v")}
	agent := text("user-agent")
	if at := strings.Index(agent, "azsdk-"); at > 0 { // "orders-worker azsdk-go-…"
		k.Application, agent = strings.TrimSpace(agent[:at]), agent[at:]
	}
	names := strings.ToLower(k.Product + " " + agent)
	for _, known := range []struct {
		sdk connections.SDK
		by  []string
	}{
		{connections.Go, []string{"msgolangclient", "azsdk-go-"}},
		{connections.Python, []string{"azsdk-python-", "azure-servicebus ", "python-servicebus"}},
		{connections.JavaScript, []string{"msjsclient", "azsdk-js-"}},
		{connections.Java, []string{"azure-messaging-servicebus", "azsdk-java-"}},
		{connections.DotNET, []string{"azsdk-net-", "azure.messaging.servicebus", "msgnet", "microsoft.azure.amqp"}},
	} {
		if slices.ContainsFunc(known.by, func(word string) bool { return strings.Contains(names, word) }) {
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

const (
	echoPeriod    = time.Second // the time after an answer in which an attach may be its echo
	maxRheaEchoes = 64          // names remembered in a session
)

// rheaEchoes maps the names of links that the client detached before their attaches were answered
// to the times of the answers. Such an answer is an attach without a terminus and a detach. After
// it rhea attaches and detaches the link once more, and would do so for ever. That echo is not
// answered. The connection's mutex guards it.
type rheaEchoes map[linkName]time.Time

// isMaybeRhea reports whether a client may use rhea. The SDK for JavaScript does; rhea
// itself sends no product. All attaches of other clients are answered.
func isMaybeRhea(k connections.Library) bool {
	return k.SDK == connections.JavaScript || k.Product == ""
}

// isEcho reports whether a link of this name, which the client has detached before its attach was
// answered, is an echo. If it is not, isEcho records now as the time of the answer, which the
// caller must send.
func (g *rheaEchoes) isEcho(name linkName, now time.Time) bool {
	if at, ok := (*g)[name]; ok && now.Sub(at) < echoPeriod {
		delete(*g, name) // the client gets no answer, so its next attach is no echo
		return true
	}
	if *g == nil {
		*g = rheaEchoes{}
	}
	if len(*g) >= maxRheaEchoes {
		maps.DeleteFunc(*g, func(_ linkName, at time.Time) bool { return now.Sub(at) >= echoPeriod })
	}
	if len(*g) < maxRheaEchoes {
		(*g)[name] = now
	}
	return false
}
