package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mayfly/engine/longtest"
)

// Clients other than the newest official SDKs: older SDKs, frameworks, and plain AMQP and JMS
// clients. Each has a folder in testdata/sdk/clients with its packages, which
// testdata/sdk/install installs, and a program that reports like those of the SDKs (see
// sdk_test.go). The folder harness has shared code for each language.
//
// Older SDKs only speak TLS to port 5671, so each server listens on its own loopback address.
//
// C# needs no installation, but a program in MAYFLY_CSHARP that compiles and runs a file with
// Azure.Messaging.ServiceBus. Without the variable the test is skipped.

// An otherClient is a program of testdata/sdk/clients.
type otherClient struct {
	sdk
	title    string // the client's name in the documentation
	language string
	packages []string // packages whose versions are in the documentation
	protocol string   // the protocol
	port443  bool     // its administration only connects to port 443 of the host
}

const (
	inClear = "AMQP"
	withTLS = "AMQP with TLS"
)

var otherClients = []otherClient{
	{sdk{"python-old", 17, pythonClient}, "azure-servicebus", "Python", []string{"azure-servicebus"}, withTLS, false},
	{sdk{"celery", 6, pythonClient}, "Celery with kombu", "Python", []string{"celery", "kombu"}, withTLS, false},
	{sdk{"proton", 18, pythonClient}, "Qpid Proton", "Python", []string{"python-qpid-proton"}, inClear, false},
	{sdk{"javascript-old", 15, javascriptClient}, "@azure/service-bus", "JavaScript", []string{"@azure/service-bus"}, withTLS, false},
	{sdk{"rhea", 16, javascriptClient}, "rhea", "JavaScript", []string{"rhea"}, inClear, false},
	{sdk{"java-old", 14, javaClient}, "com.microsoft.azure:azure-servicebus", "Java", []string{"azure-servicebus"}, withTLS, true},
	{sdk{"jms", 15, javaClient}, "Qpid JMS", "Java", []string{"qpid-jms-client"}, inClear, false},
	{sdk{"gocloud", 33, goClient}, "gocloud.dev's conformance suite", "Go", []string{"gocloud.dev"}, withTLS, true},
	{sdk{"dapr", 33, goClient}, "Dapr's components for Service Bus", "Go", []string{"github.com/dapr/components-contrib"}, withTLS, true},
	{sdk{"dotnet", 14, csharpClient}, "Azure.Messaging.ServiceBus", "C#", []string{"Azure.Messaging.ServiceBus"}, inClear, false},
}

func TestClients(t *testing.T) {
	longtest.Require(t, "older SDKs, frameworks and plain clients")
	t.Parallel()
	for _, k := range otherClients {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if k.name != "dotnet" {
				installed(t, k.name)
			}
			dir := t.TempDir()
			host := loopback(t, "5671")
			https := "0"
			if k.port443 {
				host, https = loopback(t, "5671", "443"), "443"
			}
			s := start(t, "--store", "sqlite:"+filepath.Join(dir, "clients.db"), "--tls-dir", filepath.Join(dir, "tls"), "--tls-name", host,
				"--amqps", net.JoinHostPort(host, "5671"), "--https", net.JoinHostPort(host, https),
				"--limit", "min-lock=100ms", "--limit", "min-ttl=1ms", "--limit", "min-auto-delete=1s", "--limit", "min-duplicate-window=1s")
			suite := filepath.Join(dir, "suite")
			for _, from := range []string{"harness", k.name} {
				layOut(t, filepath.Join("clients", from), suite)
			}
			cmd := k.command(t, k.name, suite)
			cmd.Dir = suite
			cmd.Env = append(cmd.Environ(), s.environ("SB")...)
			cmd.Env = append(cmd.Env, "SB_HOST="+host, "SB_HTTPS="+strings.TrimPrefix(s.at.HTTPS, "https://"), "SB_CA="+s.at.CA, "NODE_EXTRA_CA_CERTS="+s.at.CA)
			began := time.Now()
			converse(t, k.sdk, cmd, s)
			fmt.Printf("%s took %.0f s\n", k.name, time.Since(began).Seconds())
		})
	}
}

// loopback returns a loopback address whose ports are free. If there is none, the test is
// skipped, or fails with MAYFLY_SDKS=require, as in .ci/run: some systems have no address but
// 127.0.0.1, and some permit only root to listen on port 443.
func loopback(t *testing.T, ports ...string) string {
	t.Helper()
	var err error
	for range 20 {
		host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), 1+rand.IntN(254), 1+rand.IntN(254))
		if err = free(host, ports); err == nil {
			return host
		}
	}
	if os.Getenv("MAYFLY_SDKS") == "require" {
		t.Fatalf("MAYFLY_SDKS=require, but there is no loopback address with free ports %v: %v", ports, err)
	}
	t.Skipf("there is no loopback address with free ports %v: %v", ports, err)
	return ""
}

// free returns an error if one of the ports of host is not free.
func free(host string, ports []string) error {
	for _, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func pythonClient(t *testing.T, name, _ string) *exec.Cmd {
	t.Helper()
	return exec.Command(filepath.Join(sdkDir(t), name, "venv", "bin", "python"), "-B", "suite.py")
}

func javascriptClient(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	if err := os.Symlink(filepath.Join(sdkDir(t), name, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return exec.Command("node", "suite.mjs")
}

// javaClient compiles a program, whose trust store has the password "changeit".
func javaClient(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	classes := dir + string(filepath.ListSeparator) + filepath.Join(sdkDir(t), name, "jars", "*")
	sources, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		t.Fatal(err)
	}
	javac := exec.Command("javac", append([]string{"-nowarn", "-d", dir, "-cp", classes}, sources...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", classes, "Suite")
}

// goClient returns a program that the installation has built, as it is in a separate module.
func goClient(t *testing.T, name, _ string) *exec.Cmd {
	t.Helper()
	return exec.Command(filepath.Join(sdkDir(t), name, "suite"))
}

func csharpClient(t *testing.T, _, _ string) *exec.Cmd {
	t.Helper()
	csharp := os.Getenv("MAYFLY_CSHARP")
	if csharp == "" {
		t.Skip("C#: MAYFLY_CSHARP names no program that compiles and runs it")
	}
	return exec.Command(csharp, "suite.cs")
}

// TestDocsClients checks that the documentation's table of clients lists the tested clients, with
// the installed versions.
func TestDocsClients(t *testing.T) {
	var b strings.Builder
	b.WriteString("| Client | Version | Language | By | Cases |\n| --- | --- | --- | --- | --- |\n")
	row := func(title, version, language, protocol string, cases int) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", title, version, language, protocol, cases)
	}
	for i, language := range []string{"Python", "JavaScript", "Java"} {
		k := sdks[i]
		title := map[string]string{"python": "azure-servicebus", "javascript": "@azure/service-bus", "java": "azure-messaging-servicebus"}[k.name]
		row(title, versionOf(t, k.name, title), language, inClear, k.least)
	}
	for _, k := range otherClients {
		var versions []string
		for _, p := range k.packages {
			versions = append(versions, versionOf(t, filepath.Join("clients", k.name), p))
		}
		row(k.title, strings.Join(versions, " with "), k.language, k.protocol, k.least)
	}
	inDocs(t, "tested-clients", "clients", b.String())
}

// versionOf returns the version of a package in a folder of testdata/sdk.
func versionOf(t *testing.T, folder, name string) string {
	t.Helper()
	name = regexp.QuoteMeta(name)
	for file, pattern := range map[string]string{
		"requirements.txt": `(?m)^` + name + `==(\S+)`,
		"package.json":     `"` + name + `":\s*"([^"]+)"`,
		"pom.xml":          `<artifactId>` + name + `</artifactId>\s*<version>([^<]+)<`,
		"suite.cs":         `(?m)^#:package ` + name + `@(\S+)`,
		"go.mod":           `(?m)^\s*(?:require )?` + name + ` v(\S+)`,
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "sdk", folder, file))
		if err != nil {
			continue
		}
		if found := regexp.MustCompile(pattern).FindSubmatch(text); found != nil {
			return string(found[1])
		}
	}
	t.Fatalf("no list of packages in %s names %s", folder, name)
	return ""
}
