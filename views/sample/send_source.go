package sample

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/views/component"
)

func goSend(t Task, m Message) string {
	props, left := literalFormats{
		"null": "nil", "boolean": "%s", "ubyte": "uint8(%s)", "byte": "int8(%s)", "ushort": "uint16(%s)", "short": "int16(%s)",
		"uint": "uint32(%s)", "int": "int32(%s)", "ulong": "uint64(%s)", "long": "int64(%s)", "float": "float32(%s)", "double": "float64(%s)",
		"string": "%s", "binary": "must(base64.StdEncoding.DecodeString(%s))", "timestamp": "must(time.Parse(time.RFC3339Nano, %s))",
	}.literals(m.Props)
	body := m.body("must(os.ReadFile(%s))", "[]byte(%s)", "must(base64.StdEncoding.DecodeString(%s))")
	var in program
	for _, s := range m.settings() {
		in.line("\t\t%s: ptr(%s),", s.name, s.literal(
			func(d time.Duration) string { return fmt.Sprintf("%d * time.Millisecond", milliseconds(d)) },
			func(at string) string { return "must(time.Parse(time.RFC3339Nano, " + at + "))" }))
	}
	if len(props) > 0 {
		in.line("\t\tApplicationProperties: map[string]any{")
		for _, q := range props {
			in.line("\t\t\t%s: %s,", q[0], q[1])
		}
		in.line("\t\t},")
	}
	connection := `os.Getenv("SERVICEBUS")`
	if t.Connection != "" {
		connection = component.Quoted(t.Connection)
	}
	whole := body + in.String() + connection
	imports := []string{"context", "log"}
	for _, p := range []struct{ name, sign string }{{"encoding/base64", "base64."}, {"os", "os."}, {"time", "time."}} {
		if strings.Contains(whole, p.sign) {
			imports = append(imports, p.name)
		}
	}
	slices.Sort(imports)
	var p program
	p.line("package main\n\nimport (")
	for _, name := range imports {
		p.line("\t%q", name)
	}
	p.line("\n\t\"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus\"\n)\n")
	p.line("func must[T any](v T, err error) T {\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\treturn v\n}\n")
	if len(m.settings()) > 0 {
		p.line("func ptr[T any](v T) *T { return &v }\n")
	}
	p.line("func main() {\n\tctx := context.Background()")
	p.line("\tclient := must(azservicebus.NewClientFromConnectionString(%s, nil))", connection)
	p.line("\tsender := must(client.NewSender(%s, nil))", t.target())
	p.comment("\t// ", left)
	p.line("\terr := sender.SendMessage(ctx, &azservicebus.Message{\n\t\tBody: %s,\n%s\t}, nil)", body, in.String())
	p.line("\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n}")
	return p.code()
}

func pythonSend(t Task, m Message) string {
	fit, wide := splitByWidth(m.Props, 31)
	props, left := literalFormats{
		"null": "None", "boolean": "%s", "int": "%s", "long": "%s", "short": "%s", "byte": "%s", "double": "%s", "string": "%s",
		"uuid": "uuid.UUID(%s)", "timestamp": "datetime.datetime.fromisoformat(%s)", "binary": "base64.b64decode(%s)",
	}.literals(pythonBooleans(fit))
	var in program
	for _, s := range m.settings() {
		name := snake(s.name)
		if s.name == "ScheduledEnqueueTime" {
			name += "_utc"
		}
		in.line("    %s=%s,", name, s.literal(
			func(d time.Duration) string {
				return fmt.Sprintf("datetime.timedelta(milliseconds=%d)", milliseconds(d))
			},
			func(at string) string { return "datetime.datetime.fromisoformat(" + at + ")" }))
	}
	if len(props) > 0 {
		in.line("    application_properties={")
		for _, q := range props {
			in.line("        %s: %s,", q[0], q[1])
		}
		in.line("    },")
	}
	body := m.body(`open(%s, "rb").read()`, "%s.encode()", "base64.b64decode(%s)")
	connection := `os.environ["SERVICEBUS"]`
	if t.Connection != "" {
		connection = component.Quoted(t.Connection)
	}
	var p program
	for _, name := range []string{"base64", "datetime", "os", "uuid"} {
		if strings.Contains(body+in.String()+connection, name+".") {
			p.line("import %s", name)
		}
	}
	p.line("from azure.servicebus import ServiceBusClient, ServiceBusMessage\n")
	p.comment("# ", left)
	p.comment("# ", widthNote(fit))
	p.comment("# ", wide)
	p.line("message = ServiceBusMessage(\n    %s,\n%s)", body, in.String())
	p.line("with ServiceBusClient.from_connection_string(%s) as client:", connection)
	p.line("    with client.get_%s_sender(%s) as sender:\n        sender.send_messages(message)", kindOf(t), t.target())
	return p.code()
}

func javaScriptSend(t Task, m Message) string {
	fit, wide := splitByWidth(m.Props, 53)
	props, left := literalFormats{
		"null": "null", "boolean": "%s", "ubyte": "%s", "byte": "%s", "ushort": "%s", "short": "%s", "uint": "%s", "int": "%s",
		"ulong": "%s", "long": "%s", "double": "%s", "string": "%s", "timestamp": "new Date(%s)", "binary": `Buffer.from(%s, "base64")`,
	}.literals(fit)
	var in program
	for _, s := range m.settings() {
		name := camel(s.name)
		if s.name == "ScheduledEnqueueTime" {
			name += "Utc"
		}
		in.line("  %s: %s,", name, s.literal(
			func(d time.Duration) string { return fmt.Sprint(milliseconds(d)) },
			func(at string) string { return "new Date(" + at + ")" }))
	}
	if len(props) > 0 {
		in.line("  applicationProperties: {")
		for _, q := range props {
			in.line("    %s: %s,", q[0], q[1])
		}
		in.line("  },")
	}
	connection := `process.env.SERVICEBUS`
	if t.Connection != "" {
		connection = component.Quoted(t.Connection)
	}
	var p program
	p.line(`import { ServiceBusClient } from "@azure/service-bus";`)
	if m.File != "" {
		p.line(`import { readFileSync } from "node:fs";`)
	}
	p.line("\nconst client = new ServiceBusClient(%s);", connection)
	p.comment("// ", left)
	p.comment("// ", widthNote(fit))
	p.comment("// ", wide)
	p.line("await client.createSender(%s).sendMessages({\n  body: %s,\n%s});", t.target(),
		m.body("readFileSync(%s)", "Buffer.from(%s)", `Buffer.from(%s, "base64")`), in.String())
	p.line("await client.close();")
	return p.code()
}

func javaSend(t Task, m Message) string {
	props, left := literalFormats{
		"boolean": "%s", "byte": "(byte) %s", "short": "(short) %s", "int": "%s", "long": "%sL", "float": "%sf", "double": "%sd",
		"string": "%s", "uuid": "java.util.UUID.fromString(%s)", "timestamp": "java.util.Date.from(java.time.Instant.parse(%s))",
	}.literals(m.Props)
	connection := `System.getenv("SERVICEBUS")`
	if t.Connection != "" {
		connection = component.Quoted(t.Connection)
	}
	thrown := ""
	if m.File != "" {
		thrown = " throws java.io.IOException"
	}
	var p program
	p.line("import com.azure.core.util.BinaryData;\nimport com.azure.messaging.servicebus.*;\n")
	p.line("public class Sample {\n    public static void main(String[] args)%s {", thrown)
	p.line("        var message = new ServiceBusMessage(%s);", m.body(
		"BinaryData.fromBytes(java.nio.file.Files.readAllBytes(java.nio.file.Path.of(%s)))", "BinaryData.fromString(%s)", "BinaryData.fromBytes(java.util.Base64.getDecoder().decode(%s))"))
	for _, s := range m.settings() {
		name := strings.Replace(s.name, "ID", "Id", 1)
		p.line("        message.set%s(%s);", name, s.literal(
			func(d time.Duration) string { return fmt.Sprintf("java.time.Duration.ofMillis(%dL)", milliseconds(d)) },
			func(at string) string { return "java.time.OffsetDateTime.parse(" + at + ")" }))
	}
	p.comment("        // ", left)
	for _, q := range props {
		p.line("        message.getApplicationProperties().put(%s, %s);", q[0], q[1])
	}
	p.line("        try (var sender = new ServiceBusClientBuilder().connectionString(%s).sender().%sName(%s).buildClient()) {", connection, kindOf(t), t.target())
	p.line("            sender.sendMessage(message);\n        }\n    }\n}")
	return p.code()
}

func dotNETSend(t Task, m Message) string {
	props, left := literalFormats{
		"null": "null", "boolean": "%s", "ubyte": "(byte)%s", "byte": "(sbyte)%s", "ushort": "(ushort)%s", "short": "(short)%s",
		"uint": "%su", "int": "%s", "ulong": "%sul", "long": "%sL", "float": "%sf", "double": "%sd", "decimal128": "%sm", "string": "%s",
		"uuid": "Guid.Parse(%s)", "timestamp": "DateTimeOffset.Parse(%s).UtcDateTime", "binary": "Convert.FromBase64String(%s)",
		"uri": "new Uri(%s)", "timespan": "TimeSpan.Parse(%s)", "datetime-offset": "DateTimeOffset.Parse(%s)",
	}.literals(m.Props)
	connection := `Environment.GetEnvironmentVariable("SERVICEBUS")`
	if t.Connection != "" {
		connection = component.Quoted(t.Connection)
	}
	var p program
	p.line("using Azure.Messaging.ServiceBus;\n")
	p.line("await using var client = new ServiceBusClient(%s);", connection)
	p.comment("// ", left)
	p.line("await client.CreateSender(%s).SendMessageAsync(new ServiceBusMessage(%s)\n{", t.target(), m.body(
		"BinaryData.FromBytes(File.ReadAllBytes(%s))", "BinaryData.FromString(%s)", "BinaryData.FromBytes(Convert.FromBase64String(%s))"))
	for _, s := range m.settings() {
		name := strings.Replace(s.name, "ID", "Id", 1)
		p.line("    %s = %s,", name, s.literal(
			func(d time.Duration) string { return fmt.Sprintf("TimeSpan.FromMilliseconds(%d)", milliseconds(d)) },
			func(at string) string { return "DateTimeOffset.Parse(" + at + ")" }))
	}
	if len(props) > 0 {
		p.line("    ApplicationProperties =\n    {")
		for _, q := range props {
			p.line("        [%s] = %s,", q[0], q[1])
		}
		p.line("    },")
	}
	p.line("});")
	return p.code()
}

// comment adds a comment line with the text `says` after `begin`, unless the text is empty.
func (p *program) comment(begin, says string) {
	if says != "" {
		p.line("%s%s", begin, says)
	}
}

// widthNote returns a text for an SDK that sends every integer as a long: it lists the properties
// with other integer types. It is empty if there are none.
func widthNote(all []component.Property) string {
	var of []string
	for _, q := range all {
		if q.Type != "long" && slices.Contains([]string{"byte", "ubyte", "short", "ushort", "int", "uint", "ulong"}, q.Type) {
			of = append(of, component.ShowAllInvisible(q.Name)+" ("+q.Type+")")
		}
	}
	if len(of) == 0 {
		return ""
	}
	return strings.ReplaceAll("this SDK chooses the width of whole numbers itself: "+strings.Join(of, ", "), "\n", " ")
}

// splitByWidth returns the properties without the integers that need more than the given number of
// bits beside the sign, and a text that lists those integers.
func splitByWidth(all []component.Property, bits uint) (fit []component.Property, left string) {
	var wide []string
	for _, q := range all {
		whole := slices.Contains([]string{"byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong"}, q.Type)
		n, err := strconv.ParseInt(q.Value, 10, 64)
		if whole && (err != nil || n>>bits != 0 && n>>bits != -1) {
			wide = append(wide, component.ShowAllInvisible(q.Name))
			continue
		}
		fit = append(fit, q)
	}
	if len(wide) > 0 {
		left = strings.ReplaceAll("left out, for a number of this SDK has no room for it: "+strings.Join(wide, ", "), "\n", " ")
	}
	return fit, left
}

// pythonBooleans writes booleans as Python does.
func pythonBooleans(all []component.Property) []component.Property {
	out := slices.Clone(all)
	for i := range out {
		if q := &out[i]; q.Type == "boolean" && q.Value != "" {
			q.Value = strings.ToUpper(q.Value[:1]) + q.Value[1:]
		}
	}
	return out
}

func kindOf(t Task) string {
	if t.Queue != "" {
		return "queue"
	}
	return "topic"
}

// milliseconds returns a time to live in AMQP's unit, rounded up.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
