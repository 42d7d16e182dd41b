package server

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mayfly/cmd/mayfly/cli"
)

func describeTrust() cli.Command {
	return cli.Command{
		Name: "trust", Summary: "Print the steps that make an SDK trust the server's certificate, or apply them.", Flags: &trustCommand{},
		Detail: "The steps are for the CA in --tls-dir, which the server creates when it first starts with --amqps or --https. --apply appends the CA to certifi's bundle (Python) or creates a trust store beside the CA (Java). It changes no system settings, and prints the environment variables to set, for a POSIX shell and for PowerShell.",
		Examples: []cli.Example{
			{Line: "mayfly trust java", Text: "Print the steps for a Java program."},
			{Line: "mayfly trust python --apply", Text: "Append the CA to certifi's bundle, unless it is there already."},
		},
	}
}

// trustCommand prints or applies the steps for one language.
type trustCommand struct {
	Language string `arg:"" enum:"go,python,javascript,java,dotnet" help:"go, python, javascript, java or dotnet."`
	TLSDir   string `name:"tls-dir" placeholder:"DIR" type:"path" env:"MAYFLY_TLS_DIR" help:"Folder with the server's certificate. Default: ${tls}."`
	Apply    bool   `name:"apply" help:"Apply the steps instead of printing them; for python and java only."`
	Program  string `name:"with" placeholder:"PROGRAM" help:"The python or keytool to use. Default: python3 (on Windows python), keytool."`
}

// storePassword protects a store without secrets. Java does not read a store of its default
// type without a password.
const storePassword = "changeit"

// Run prints or applies the steps.
func (c *trustCommand) Run(ctx context.Context, s cli.Streams) error {
	if c.TLSDir == "" {
		if c.TLSDir = cli.DefaultTLSDir(); c.TLSDir == "" {
			return cli.UsageErrorf("there is no home folder with certificates; set the folder with --tls-dir DIR")
		}
	}
	ca, err := filepath.Abs(filepath.Join(c.TLSDir, "ca.pem"))
	if err != nil {
		return fmt.Errorf("find the CA: %w", err)
	}
	raw, err := os.ReadFile(ca)
	if err != nil {
		return fmt.Errorf("there is no CA; start the server with --amqps or --https first, or set the folder of its certificate with --tls-dir: %w", err)
	}
	if b, _ := pem.Decode(raw); b == nil {
		return fmt.Errorf("%s has no certificate", ca)
	}
	file, done := "", ""
	if c.Apply {
		if file, done, err = c.apply(ctx, ca, raw); err != nil {
			return err
		}
	}
	_, err = fmt.Fprint(s.Out, done+c.steps(ca, file))
	return err
}

// errApplyUnsupported is for languages whose trust does not depend on a file that --apply could change.
var errApplyUnsupported = errors.New("--apply works for python and java only: run the command without --apply and follow the steps")

// apply applies the steps that change a file, and returns the file with a sentence about it.
func (c *trustCommand) apply(ctx context.Context, ca string, raw []byte) (file, done string, err error) {
	switch c.Language {
	case "python":
		return c.applyPython(ctx, raw)
	case "java":
		store := filepath.Join(filepath.Dir(ca), "trust.jks")
		if err := c.importCertificate(ctx, store, ca); err != nil {
			return "", "", err
		}
		return store, "# The store " + store + " trusts the CA.\n\n", nil
	default:
		return "", "", errApplyUnsupported
	}
}

// applyPython appends the CA to the file of certifi's bundle, unless the file contains it already.
// It returns the file with a sentence about it.
func (c *trustCommand) applyPython(ctx context.Context, raw []byte) (file, done string, err error) {
	program := c.programOr(defaultPython())
	out, err := exec.CommandContext(ctx, program, "-m", "certifi").Output()
	if err != nil {
		return "", "", fmt.Errorf("ask %s for the path of certifi's bundle: %w", program, err)
	}
	file = strings.TrimSpace(string(out))
	have, err := os.ReadFile(file)
	if err != nil {
		return "", "", fmt.Errorf("read certifi's bundle: %w", err)
	}
	if bytes.Contains(have, bytes.TrimSpace(raw)) {
		return file, "# " + file + " has the CA already.\n\n", nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return "", "", fmt.Errorf("append to certifi's bundle: %w", err)
	}
	_, err = f.Write(append([]byte("\n"), raw...))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", "", fmt.Errorf("append to certifi's bundle: %w", err)
	}
	return file, "# The CA was appended to " + file + ".\n\n", nil
}

// importCertificate makes a Java store trust the CA instead of a former one. It keeps other
// entries. It changes a copy and then replaces the store, so a failure changes nothing.
func (c *trustCommand) importCertificate(ctx context.Context, store, ca string) error {
	dir, err := os.MkdirTemp(filepath.Dir(store), ".trust-*")
	if err != nil {
		return fmt.Errorf("create a trust store: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a copy of public data
	next := filepath.Join(dir, filepath.Base(store))
	keytool := func(args ...string) error {
		args = append(args, "-keystore", next, "-storepass", storePassword)
		out, err := exec.CommandContext(ctx, c.programOr("keytool"), args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", c.programOr("keytool"), args[0], err, bytes.TrimSpace(out))
		}
		return nil
	}
	had, err := os.ReadFile(store)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return fmt.Errorf("read the trust store: %w", err)
	default:
		if err := os.WriteFile(next, had, 0o644); err != nil { // readable for others: it contains certificates
			return fmt.Errorf("copy the trust store: %w", err)
		}
		if err := keytool("-list"); err != nil {
			return fmt.Errorf("the trust store %s was not changed: %w", store, err)
		}
		if keytool("-list", "-alias", "mayfly") == nil {
			if err := keytool("-delete", "-alias", "mayfly"); err != nil {
				return err
			}
		}
	}
	if err := keytool("-importcert", "-noprompt", "-alias", "mayfly", "-file", ca); err != nil {
		return err
	}
	if err := os.Rename(next, store); err != nil {
		return fmt.Errorf("replace the trust store: %w", err)
	}
	return nil
}
