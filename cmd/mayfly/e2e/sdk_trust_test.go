package e2e

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/longtest"
	"mayfly/web/certificate"
)

// SDKs trust the server after the steps that mayfly trust prints, even if the environment names
// other roots: over AMQP with TLS, and as administration clients.
func TestSDKsTrust(t *testing.T) {
	longtest.Require(t, "the SDKs with TLS")
	t.Parallel()
	all := languages()
	all[".NET"] = language{name: "dotnet", file: "script.cs", command: func(t *testing.T, _, file string) *exec.Cmd {
		t.Helper()
		return exec.Command(os.Getenv("MAYFLY_CSHARP"), file)
	}}
	for called, l := range all {
		t.Run(called, func(t *testing.T) {
			t.Parallel()
			if l.name != "dotnet" {
				l.installed(t)
			} else if os.Getenv("MAYFLY_CSHARP") == "" {
				t.Skip("C#: MAYFLY_CSHARP names no program that compiles and runs it")
			}
			program, err := os.ReadFile(filepath.Join("testdata", "sdk", "trust", l.file))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			file, tls, host := filepath.Join(dir, l.file), filepath.Join(dir, "a folder", "tls"), loopback(t, "5671", "443")
			if err := os.WriteFile(file, program, 0o600); err != nil {
				t.Fatal(err)
			}
			start(t, "--store", "memory:", "--config", OrdersConfig(t), "--tls-dir", tls, "--amqps", net.JoinHostPort(host, "5671"), "--https", net.JoinHostPort(host, "443"))
			others, err := certificate.Open(certificate.Options{Dir: filepath.Join(dir, "others")})
			if err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "SERVICEBUS=Endpoint=sb://"+host+"/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE")
			for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"} {
				env = append(env, name+"="+others.CA())
			}
			args := []string{"trust", l.name, "--tls-dir", tls}
			if l.name == "python" {
				args = append(args, "--with", python(t))
				env = append(env, "PYTHONPATH="+ownCertifi(t, dir))
			}
			runs := [][]string{args}
			if l.name == "java" { // for Python it would change the installed certifi
				runs = append(runs, append(args, "--apply")) // the previous run has created the store
			}
			for _, args := range runs {
				steps, complaint, code := RunCommand(t, "", args...)
				if code != cli.ExitOK {
					t.Fatal(complaint)
				}
				_, steps, _ = strings.Cut(steps, "# Linux")
				_, steps, _ = strings.Cut(steps, ":\n")
				steps, _, _ = strings.Cut(steps, "\n\n")
				command := l.command(t, dir, file)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				cmd := exec.CommandContext(ctx, "sh", append([]string{"-ec", steps + "\nexec \"$0\" \"$@\""}, command.Args...)...)
				cmd.Env, cmd.WaitDelay = env, time.Second
				var said Output
				cmd.Stderr = &said
				out, err := cmd.Output()
				cancel()
				if lines := strings.Fields(string(out)); err != nil || len(lines) < 2 || lines[len(lines)-2] != "hello" || lines[len(lines)-1] != "orders" {
					t.Errorf("%v\n%s%s\nafter\n%s", err, out, &said, steps)
				}
			}
		})
	}
}

// ownCertifi copies Python's package certifi, whose file is changed, into a folder for
// PYTHONPATH.
func ownCertifi(t *testing.T, dir string) string {
	t.Helper()
	at, err := exec.Command(python(t), "-m", "certifi").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "packages")
	if err := os.CopyFS(filepath.Join(own, "certifi"), os.DirFS(filepath.Dir(strings.TrimSpace(string(at))))); err != nil {
		t.Fatal(err)
	}
	return own
}
