package server

import (
	"path/filepath"
	"regexp"
	"runtime"

	"mayfly/cmd/mayfly/cli"
)

// A shell is the syntax of printed steps.
type shell struct {
	python string // the command for Python on the systems of this shell
	quote  func(text string) string
	// set returns the command that sets an environment variable to the value of an expression.
	set func(name, expression string) string
	// output returns an expression for the output of a command.
	output func(command string) string
	// call returns the first word of a command: a program, quoted if necessary.
	call func(program string) string
	// add returns a command that appends a file to the one that an expression names.
	add func(file, to string) string
}

// plainWord matches text that needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// posix returns the shell of Linux and macOS. Its lines do not end in comments, because an
// interactive zsh would read these as arguments.
func posix() shell {
	return shell{
		python: "python3",
		quote:  cli.ShellQuote,
		set:    func(name, expression string) string { return "export " + name + "=" + expression + "\n" },
		output: func(command string) string { return `"$(` + command + `)"` },
		call: func(program string) string {
			if plainWord.MatchString(program) {
				return program
			}
			return cli.ShellQuote(program)
		},
		add: func(file, to string) string { return "cat " + cli.ShellQuote(file) + " >> " + to + "\n" },
	}
}

// powerShell returns the shell of Windows.
func powerShell() shell {
	return shell{
		python: "python",
		quote:  powerShellQuote,
		set:    func(name, expression string) string { return "$env:" + name + " = " + expression + "\n" },
		output: func(command string) string { return "(" + command + ")" },
		call: func(program string) string {
			if plainWord.MatchString(program) {
				return program
			}
			return "& " + powerShellQuote(program)
		},
		add: func(file, to string) string {
			return "Get-Content -LiteralPath " + powerShellQuote(file) + " | Add-Content -LiteralPath " + to + "\n"
		},
	}
}

// powerShellQuote returns text as a literal. PowerShell also treats the typographic quotes U+2018
// to U+201B as quotes.
func powerShellQuote(text string) string {
	return "'" + powerShellQuotes.ReplaceAllString(text, "$0$0") + "'"
}

var powerShellQuotes = regexp.MustCompile("['\u2018-\u201b]")

// Headings of the steps, and a note. Each is a line of its own, so that it can be pasted too.
const (
	headPosix      = "# Linux and macOS:\n"
	headPowerShell = "\n# PowerShell:\n"
	headLinux      = "# Linux:\n"
	headMac        = "\n# macOS, into your keychain:\n"
	noteJava       = "\n# Every Java started from this shell then trusts no other CA, so Maven and Gradle cannot download: set the variable where your program runs.\n"
	notePython     = "\n# WebSockets connect to port 443; ServiceBusClient's custom_endpoint_address='sb://HOST:PORT' names another.\n"
	headWindows    = "\n# Windows, into your trusted roots, in PowerShell:\n"
)

// steps returns the remaining steps for a user to make programs trust the CA in the file ca. file
// is the file that --apply changed, or "" without --apply.
func (c *trustCommand) steps(ca, file string) string {
	var in func(shell) string
	switch c.Language {
	case "python":
		in = func(s shell) string { return c.pythonSteps(s, ca, file) }
	case "java":
		in = func(s shell) string { return c.javaSteps(s, ca, file) }
	case "javascript":
		in = func(s shell) string { return s.set("NODE_EXTRA_CA_CERTS", s.quote(ca)) }
	default: // Go and .NET only read the variable on Linux
		return headLinux + posix().set("SSL_CERT_FILE", posix().quote(ca)) +
			headMac + "security add-trusted-cert -k ~/Library/Keychains/login.keychain-db " + posix().quote(ca) + "\n" +
			headWindows + "certutil -user -addstore Root " + powerShell().quote(ca) + "\n"
	}
	lines := headPosix + in(posix()) + headPowerShell + in(powerShell())
	switch c.Language {
	case "python":
		lines += notePython
	case "java":
		lines += noteJava
	}
	return lines
}

// pythonSteps returns the steps that make all Python clients read certifi's file. The AMQP client
// reads only that file; the asynchronous administration client reads OpenSSL's; the administration
// client reads certifi's unless REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE is set, in this order.
// certifi's file has the public roots as well, so the rest of the program connects as before.
func (c *trustCommand) pythonSteps(s shell, ca, file string) string {
	program := c.programOr(s.python)
	bundle, add := s.quote(file), ""
	if file == "" {
		bundle = s.output(s.call(program) + " -m certifi")
		add = s.add(ca, bundle)
	}
	return add + s.set("SSL_CERT_FILE", bundle) + s.set("REQUESTS_CA_BUNDLE", bundle)
}

// javaSteps returns the steps that create a trust store and make every Java that is started from
// the shell read it, also by Maven and Gradle. With file, the store exists already.
func (c *trustCommand) javaSteps(s shell, ca, file string) string {
	store, add := filepath.Join(filepath.Dir(ca), "trust.jks"), ""
	if file == "" {
		add = s.call(c.programOr("keytool")) + " -importcert -noprompt -alias mayfly -file " + s.quote(ca) + " -keystore " + s.quote(store) + " -storepass " + storePassword + "\n"
	}
	return add + s.set("JAVA_TOOL_OPTIONS", s.quote(`-Djavax.net.ssl.trustStore="`+store+`" -Djavax.net.ssl.trustStorePassword=`+storePassword))
}

// programOr returns the program of --with, or otherwise.
func (c *trustCommand) programOr(otherwise string) string {
	if c.Program != "" {
		return c.Program
	}
	return otherwise
}

// defaultPython returns the command for Python on this system.
func defaultPython() string {
	if runtime.GOOS == "windows" {
		return powerShell().python
	}
	return posix().python
}
