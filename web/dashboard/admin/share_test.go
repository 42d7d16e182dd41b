package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skip2/go-qrcode"
)

// The drawn path is the library's bitmap, module by module, for each size that a link can
// need, and not a mirror image, which cameras would not read.
func TestQRCodeIsDrawnAsItIs(t *testing.T) {
	for _, text := range []string{"x", "http://127.0.0.1:8080/l/mfl_0123456789abcdefghijklmnopqrstuvwxyz", "https://" + strings.Repeat("a-long-host.", 20) + "example/l/mfl_0123456789"} {
		code, err := qrcode.New(text, qrcode.Medium)
		if err != nil {
			t.Fatal(err)
		}
		want := code.Bitmap()
		drawn, err := drawQR(text)
		if err != nil || drawn.Size != len(want) {
			t.Fatalf("%s: %d modules wide, want %d: %v", text, drawn.Size, len(want), err)
		}
		if transposed := transpose(want); slices.EqualFunc(transposed, want, slices.Equal) {
			t.Fatal("the code equals its own mirror image, so the test shows nothing")
		}
		got := make([][]bool, drawn.Size)
		for y := range got {
			got[y] = make([]bool, drawn.Size)
		}
		for in := strings.NewReader(drawn.Path); in.Len() > 0; {
			var x, y, wide, back int
			_, err := fmt.Fscanf(in, "M%d %dh%dv1h-%dz", &x, &y, &wide, &back)
			if err != nil || wide != back {
				t.Fatalf("%s is not a path of lines: %v", drawn.Path, err)
			}
			for i := range wide {
				got[y][x+i] = true
			}
		}
		for y := range want {
			if !slices.Equal(got[y], want[y]) {
				t.Errorf("%s: row %d is\n%v, want\n%v", text, y, got[y], want[y])
			}
		}
	}
}

// TestLinkOfLoopbackIsNotDrawn checks that there is no QR code for an address that a phone
// cannot reach.
func TestLinkOfLoopbackIsNotDrawn(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.1.2.3": true, "[::1]:8080": true, "[::ffff:127.0.0.1]:8080": true, "0.0.0.0:8080": true, "localhost:8080": true, "LOCALHOST": true, "mayfly.localhost": true,
		"192.0.2.17:8080": false, "[2001:db8::1]:8080": false, "mayfly.example": false, "localhost.example": false, "notlocalhost": false, "128.0.0.1": false,
	} {
		qr, here, err := linkQR("http://" + host + "/l/mfl_one")
		if here != want || (qr.Path == "") != want || err != nil {
			t.Errorf("%s: only here is %v, want %v; drawn %d wide, %v", host, here, want, qr.Size, err)
		}
	}
}

func transpose(of [][]bool) [][]bool {
	out := make([][]bool, len(of))
	for y := range of {
		for _, row := range of {
			out[y] = append(out[y], row[y])
		}
	}
	return out
}
