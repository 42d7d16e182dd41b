package e2e

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/command"
)

// ofKubernetes are the variables that the kubelet sets for three Services: mayfly, with ports amqp
// and http; mayfly-amqp, on IPv6; and mayfly-0.
var ofKubernetes = strings.Fields(`
MAYFLY_SERVICE_HOST=10.96.12.7 MAYFLY_SERVICE_PORT=5672 MAYFLY_SERVICE_PORT_AMQP=5672 MAYFLY_SERVICE_PORT_HTTP=8080
MAYFLY_PORT=tcp://10.96.12.7:5672 MAYFLY_PORT_5672_TCP=tcp://10.96.12.7:5672 MAYFLY_PORT_5672_TCP_PROTO=tcp
MAYFLY_PORT_5672_TCP_PORT=5672 MAYFLY_PORT_5672_TCP_ADDR=10.96.12.7 MAYFLY_PORT_8080_TCP=tcp://10.96.12.7:8080
MAYFLY_PORT_8080_TCP_PROTO=tcp MAYFLY_PORT_8080_TCP_PORT=8080 MAYFLY_PORT_8080_TCP_ADDR=10.96.12.7
MAYFLY_AMQP_SERVICE_HOST=fd00::17 MAYFLY_AMQP_SERVICE_PORT=5672 MAYFLY_AMQP_PORT=tcp://[fd00::17]:5672
MAYFLY_AMQP_PORT_5672_TCP=tcp://[fd00::17]:5672 MAYFLY_AMQP_PORT_5672_TCP_PROTO=tcp MAYFLY_AMQP_PORT_5672_TCP_PORT=5672 MAYFLY_AMQP_PORT_5672_TCP_ADDR=fd00::17
MAYFLY_0_SERVICE_HOST=10.96.0.9 MAYFLY_0_SERVICE_PORT=53 MAYFLY_0_PORT=udp://10.96.0.9:53 MAYFLY_0_PORT_53_UDP=udp://10.96.0.9:53 MAYFLY_0_PORT_53_UDP_PROTO=udp
MAYFLY_0_PORT_99_SCTP_PROTO=sctp`)

// TestServiceLinks checks that commands accept a cluster's variables, and still report variables
// that only resemble them as mistakes.
func TestServiceLinks(t *testing.T) {
	var out, err bytes.Buffer
	if code := cli.Execute(t.Context(), command.All(), []string{"version"}, ofKubernetes, cli.Streams{Out: &out, Err: &err}); strings.Contains(err.String(), "no variable") {
		t.Errorf("%d: %s", code, &err)
	}
	p := cli.Parser(t.Context(), cli.Streams{Out: &out, Err: &err}, command.All())
	if unknown := cli.UnknownVariables(p.Model.Node, ofKubernetes); len(unknown) > 0 {
		t.Errorf("%q are reported as mistakes", unknown)
	}
	for _, wrong := range []string{
		"MAYFLY_PORT=8080", "MAYFLY_PORT=", "MAYFLY_PORT=http://10.0.0.1:80", "MAYFLY_PORT=tcp://10.0.0.1", "MAYFLY_PORT=tcp://:5672", "MAYFLY_SERVICE_HOST=", "MAYFLY_SERVICE_HOST=bus.example",
		"MAYFLY_SERVICE_PORT=http://10.0.0.1:1", "MAYFLY_SERVICE_PORT_AMQP=0", "MAYFLY_SERVICE_PORT=70000", "MAYFLY_PORT_5672_TCP=5672", "MAYFLY_PORT_5672_HTTP=tcp://10.0.0.1:5672", "MAYFLY_PORT_5672_TCP_PROTO=http",
		"MAYFLY_PORT_X_TCP=tcp://10.0.0.1:5672", "MAYFLY_PORT_5672_TCP_ADDR=x", "MAYFLY_PORT_5672_TCP_PORT=x", "MAYFLY_HTPP=x", "MAYFLY_BOGUS=tcp://10.0.0.1:5672", "MAYFLY_HOST=10.0.0.1", "MAYFLY_HTTP_PORT=8080",
	} {
		if name, _, _ := strings.Cut(wrong, "="); !slices.Contains(cli.UnknownVariables(p.Model.Node, []string{wrong}), name) {
			t.Errorf("%s is accepted as a service link", wrong)
		}
	}
}

// TestNoFlagIsCalledAsAServiceLink checks that no flag's variable has the name of a service link,
// because a cluster would set such a flag to an address that no user chose.
func TestNoFlagIsCalledAsAServiceLink(t *testing.T) {
	n := 0
	var look func(*kong.Node)
	look = func(node *kong.Node) {
		for _, f := range node.Flags {
			for _, name := range f.Envs {
				if n++; cli.IsServiceLinkName(name) {
					t.Errorf("--%s has the variable %s, which Kubernetes sets for a Service", f.Name, name)
				}
			}
		}
		for _, child := range node.Children {
			look(child)
		}
	}
	if look(cli.Parser(t.Context(), cli.Streams{}, command.All()).Model.Node); n < 40 {
		t.Errorf("only %d variables were checked", n)
	}
}
