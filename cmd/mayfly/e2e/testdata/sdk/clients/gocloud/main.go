// Command gocloud runs the conformance suite of gocloud.dev's Service Bus driver, unchanged, and
// prints its results in the format of the SDKs' test programs. The suite is a test of the package
// that the file conformance names; the installation compiles it to a program called conformance
// beside this one. "go get -t gocloud.dev/pubsub/azuresb" added the modules that the test imports
// to go.sum; "go mod tidy" would remove them.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	_ "gocloud.dev/pubsub/azuresb"
)

var ending = regexp.MustCompile(`^\s*--- (PASS|FAIL): (\S+) \(([0-9.]+)s\)`)

func main() {
	self, err := os.Executable()
	check(err)
	suite := exec.Command(filepath.Join(filepath.Dir(self), "conformance"), "-record", "-test.v", "-test.run", "^TestConformance")
	suite.Env = append(os.Environ(), "SSL_CERT_FILE="+os.Getenv("SB_CA"),
		"SERVICEBUS_CONNECTION_STRING=Endpoint=sb://"+os.Getenv("SB_HOST")+"/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE")
	suite.Stderr = os.Stderr
	out, err := suite.StdoutPipe()
	check(err)
	check(suite.Start())
	total := 0
	var said []string // lines since the last result
	for lines := bufio.NewScanner(out); lines.Scan(); {
		found := ending.FindStringSubmatch(lines.Text())
		if found == nil {
			said = append(said, lines.Text())
			continue
		}
		total++
		if found[1] == "PASS" {
			fmt.Printf("PASS %s %ss\n", found[2], found[3])
			continue
		}
		fmt.Printf("FAIL %s\n| %s\n", found[2], strings.Join(said, "\n| "))
	}
	if err := suite.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	fmt.Printf("DONE %d\n", total)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
