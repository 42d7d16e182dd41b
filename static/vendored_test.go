package static

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"regexp"
	"testing"
)

func TestVendoredFilesAreAsListed(t *testing.T) {
	list, err := os.ReadFile("VENDORED.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` .*`([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(list), -1)
	if len(rows) == 0 {
		t.Fatal("VENDORED.md lists nothing")
	}
	for _, row := range rows {
		content, err := os.ReadFile(row[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != row[2] {
			t.Errorf("%s: sha256 %x, listed as %s", row[1], sum, row[2])
		}
	}
}
