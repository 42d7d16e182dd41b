package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/certificate"
)

// TestTrust checks the steps that mayfly trust prints for each language, and that --apply executes
// those for Python and Java, once, and is refused for other languages.
func TestTrust(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	if _, complaint, code := RunCommand(t, "", "trust", "go", "--tls-dir", dir); code == cli.ExitOK || !strings.Contains(complaint, "start the server with --amqps or --https first") {
		t.Errorf("without a CA: %d %s", code, complaint)
	}
	if _, err := certificate.Open(certificate.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.pem")
	for language, want := range map[string]string{
		"go": "# Linux:\nexport SSL_CERT_FILE='CA'\n\n# macOS, into your keychain:\nsecurity add-trusted-cert -k ~/Library/Keychains/login.keychain-db 'CA'\n\n# Windows, into your trusted roots, in PowerShell:\ncertutil -user -addstore Root 'CA'\n",
		"python": "# Linux and macOS:\ncat 'CA' >> \"$(python3 -m certifi)\"\nexport SSL_CERT_FILE=\"$(python3 -m certifi)\"\nexport REQUESTS_CA_BUNDLE=\"$(python3 -m certifi)\"\n" +
			"\n# PowerShell:\nGet-Content -LiteralPath 'CA' | Add-Content -LiteralPath (python -m certifi)\n$env:SSL_CERT_FILE = (python -m certifi)\n$env:REQUESTS_CA_BUNDLE = (python -m certifi)\n" +
			"\n# WebSockets connect to port 443; ServiceBusClient's custom_endpoint_address='sb://HOST:PORT' names another.\n",
		"javascript": "# Linux and macOS:\nexport NODE_EXTRA_CA_CERTS='CA'\n\n# PowerShell:\n$env:NODE_EXTRA_CA_CERTS = 'CA'\n",
		"java": "# Linux and macOS:\nkeytool -importcert -noprompt -alias mayfly -file 'CA' -keystore 'STORE' -storepass changeit\nexport JAVA_TOOL_OPTIONS='-Djavax.net.ssl.trustStore=\"STORE\" -Djavax.net.ssl.trustStorePassword=changeit'\n" +
			"\n# PowerShell:\nkeytool -importcert -noprompt -alias mayfly -file 'CA' -keystore 'STORE' -storepass changeit\n$env:JAVA_TOOL_OPTIONS = '-Djavax.net.ssl.trustStore=\"STORE\" -Djavax.net.ssl.trustStorePassword=changeit'\n" +
			"\n# Every Java started from this shell then trusts no other CA, so Maven and Gradle cannot download: set the variable where your program runs.\n",
	} {
		names := []string{language}
		if language == "go" {
			names = append(names, "dotnet") // both only read the variable on Linux
		}
		for _, name := range names {
			out, complaint, code := RunCommand(t, "", "trust", name, "--tls-dir", dir)
			got := strings.NewReplacer(ca, "CA", filepath.Join(dir, "trust.jks"), "STORE").Replace(out)
			if diff := cmp.Diff(want, got); code != cli.ExitOK || diff != "" {
				t.Errorf("%s: %d %s\n%s", name, code, complaint, diff)
			}
		}
	}
	if _, complaint, code := RunCommand(t, "", "trust", "go", "--tls-dir", dir, "--apply"); code == cli.ExitOK || !strings.Contains(complaint, "works for python and java only") {
		t.Errorf("--apply for Go: %d %s", code, complaint)
	}

	bundle, python := filepath.Join(dir, "cacert.pem"), filepath.Join(dir, "python")
	if os.WriteFile(bundle, []byte("others\n"), 0o600) != nil || os.WriteFile(python, []byte("#!/bin/sh\necho '"+bundle+"'\n"), 0o700) != nil {
		t.Fatal("cannot be written")
	}
	for _, want := range []string{"was appended to", "has the CA already"} {
		out, complaint, code := RunCommand(t, "", "trust", "python", "--tls-dir", dir, "--apply", "--with", python)
		if code != cli.ExitOK || !strings.Contains(out, want) || strings.Contains(out, "cat ") ||
			!strings.Contains(out, "export SSL_CERT_FILE='"+bundle+"'\nexport REQUESTS_CA_BUNDLE='"+bundle+"'\n") || !strings.Contains(out, "\n$env:SSL_CERT_FILE = '"+bundle+"'\n") {
			t.Errorf("Python: %d %s%s, want %s", code, out, complaint, want)
		}
	}
	has, errHas := os.ReadFile(bundle)
	one, errOne := os.ReadFile(ca)
	if errHas != nil || errOne != nil || string(has) != "others\n\n"+string(one) {
		t.Errorf("the file of certifi is %s", has)
	}
	if _, err := exec.LookPath("keytool"); err != nil { // TestTrustJava has the rest
		return // the part for Java needs Java
	}
	for range 2 {
		if out, complaint, code := RunCommand(t, "", "trust", "java", "--tls-dir", dir, "--apply"); code != cli.ExitOK || !strings.Contains(out, "trust.jks trusts the CA") {
			t.Fatalf("Java: %d %s%s", code, out, complaint)
		}
	}
}

// TestTrustJava checks that mayfly trust java --apply replaces only its own entry in the store, and
// leaves the store unchanged if keytool fails.
func TestTrustJava(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	if _, err := certificate.Open(certificate.Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	store, keytool, broken := filepath.Join(dir, "trust.jks"), filepath.Join(dir, "keytool"), filepath.Join(dir, "broken")
	// The store of this fake keytool has an alias per line.
	const script = `#!/bin/sh
do=$1 alias=
while [ $# -gt 0 ]; do case $1 in -alias) alias=$2;; -keystore) store=$2;; esac; shift; done
case $do in
-list) [ -z "$alias" ] || grep -qx "$alias" "$store";;
-delete) grep -vx "$alias" "$store" > "$store.new"; mv "$store.new" "$store";;
-importcert) ! grep -qsx "$alias" "$store" && echo "$alias" >> "$store";;
esac
`
	if os.WriteFile(keytool, []byte(script), 0o700) != nil || os.WriteFile(broken, []byte("#!/bin/sh\ncase $1 in -importcert) exit 1;; esac\n"), 0o700) != nil {
		t.Fatal("cannot be written")
	}
	for _, o := range []struct {
		name, had, with, want string
		code                  int
	}{
		{"no store", "", keytool, "mayfly\n", cli.ExitOK},
		{"of a former CA", "mayfly\n", keytool, "mayfly\n", cli.ExitOK},
		{"with others", "theirs\nmayfly\n", keytool, "theirs\nmayfly\n", cli.ExitOK},
		{"of others", "theirs\n", keytool, "theirs\nmayfly\n", cli.ExitOK},
		{"keytool fails", "theirs\nmayfly\n", broken, "theirs\nmayfly\n", 1},
		{"no keytool", "theirs\nmayfly\n", filepath.Join(dir, "none"), "theirs\nmayfly\n", 1},
		{"keytool fails, no store", "", broken, "", 1},
	} {
		if err := os.RemoveAll(store); err != nil || o.had != "" && os.WriteFile(store, []byte(o.had), 0o600) != nil {
			t.Fatal("cannot be written")
		}
		out, complaint, code := RunCommand(t, "", "trust", "java", "--tls-dir", dir, "--apply", "--with", o.with)
		has, err := os.ReadFile(store)
		if string(has) != o.want || (code == cli.ExitOK) != (o.code == cli.ExitOK) || err != nil && o.want != "" {
			t.Errorf("%s: %d %s%s: the store has %q, want %q", o.name, code, out, complaint, has, o.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".trust-*")); err != nil || len(left) != 0 {
		t.Errorf("files remain: %q, %v", left, err)
	}
}
