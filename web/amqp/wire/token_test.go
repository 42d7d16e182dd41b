package wire

import (
	"math"
	"testing"
	"time"
)

// §18.1: a delivery tag is converted to a lock token and back; only 16 bytes are a token.
// JavaScript and Python display this one as 04030201-0605-0807-090a-0b0c0d0e0f10.
func TestLockTokens(t *testing.T) {
	tag := x("0102030405060708090a0b0c0d0e0f10")
	token, ok := LockTokenOfTag(tag)
	if !ok {
		t.Fatal("16 bytes were accepted as a token")
	}
	check(t, "token", token[:], x("0403020106050807090a0b0c0d0e0f10"))
	back := TagOfLockToken(token)
	check(t, "tag", back[:], tag)
	for _, n := range []int{0, 4, 15, 17} {
		if _, ok := LockTokenOfTag(make([]byte, n)); ok {
			t.Errorf("%d bytes were accepted as a token", n)
		}
	}
}

func TestTicks(t *testing.T) {
	for name, tc := range map[string]struct{ millis, want int64 }{
		"the epoch":           {0, 621355968000000000},
		"a millisecond later": {1, 621355968000010000},
		"the year 2000":       {time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), 630822816000000000},
		"the first of .NET":   {-62135596800000, 0},
		"before":              {-62135596800001, 0},
		"the last of .NET":    {253402300799999, 3155378975999990000},
		"the year 10000":      {253402300800000, 3155378975999999999},
		"the last there is":   {math.MaxInt64, 3155378975999999999},
		"the first there is":  {math.MinInt64, 0},
	} {
		if got := DotNetTicks(tc.millis); got != tc.want {
			t.Errorf("%s: %d, not %d", name, got, tc.want)
		}
	}
}
