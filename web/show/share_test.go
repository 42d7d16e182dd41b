package show

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skip2/go-qrcode"
)

// What is drawn is what the library has: filled in again, module by module, the path is
// its bitmap, at each size that a link comes to. It is no mirror image, which cameras
// would not read.
func TestQRCodeIsDrawnAsItIs(t *testing.T) {
	for _, text := range []string{"x", "http://127.0.0.1:8080/l/mfl_0123456789abcdefghijklmnopqrstuvwxyz", "https://" + strings.Repeat("a-long-host.", 20) + "example/l/mfl_0123456789"} {
		code, err := qrcode.New(text, qrcode.Medium)
		if err != nil {
			t.Fatal(err)
		}
		want := code.Bitmap()
		drawn, err := draw(text)
		if err != nil || drawn.Size != len(want) {
			t.Fatalf("%s: %d modules wide, want %d: %v", text, drawn.Size, len(want), err)
		}
		if transposed := transpose(want); slices.EqualFunc(transposed, want, slices.Equal) {
			t.Fatal("the code is its own mirror image, which shows nothing")
		}
		got := make([][]bool, drawn.Size)
		for y := range got {
			got[y] = make([]bool, drawn.Size)
		}
		for in := strings.NewReader(drawn.Path); in.Len() > 0; {
			var x, y, wide, back int
			_, err := fmt.Fscanf(in, "M%d %dh%dv1h-%dz", &x, &y, &wide, &back)
			if err != nil || wide != back {
				t.Fatalf("%s is no path of lines: %v", drawn.Path, err)
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

func transpose(of [][]bool) [][]bool {
	out := make([][]bool, len(of))
	for y := range of {
		for _, row := range of {
			out[y] = append(out[y], row[y])
		}
	}
	return out
}
