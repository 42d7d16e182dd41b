package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"mayfly/cmd/mayfly/client"
)

// pictures is the folder of the README's pictures. To update them, run
// go test ./cmd/mayfly/e2e -run TestBrowser/pictures -update.
const pictures = "testdata/pictures"

// picturesInBrowser compares the README's pictures with their pages: if a page has different
// words or looks different, the pictures have to be updated.
func picturesInBrowser(t *testing.T, v *visit) {
	v.keepShop()
	v.visit("/n/default")
	v.want(isLive)
	v.want(`document.querySelectorAll("[data-list=next] > *, .horizon .bar").length > 0`)
	v.picture("overview")
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.do(chromedp.Click(chromedp.CSS(`[data-list=rows] > :nth-child(4) .subject`)))
	v.want(`document.querySelector(".drawer .passport, .drawer h2")`)
	v.picture("message")
	v.visit("/scenes")
	v.click(`[formaction="/scenes/play/deadline"]`)
	v.want(isLive)
	for _, says := range []string{"Two queues", "A price that is good", "Half a minute passes"} {
		v.press("n")
		v.want(caption + `.startsWith("` + says + `") && !document.querySelector(".stage-playing") && document.querySelectorAll(".stage-so [data-tone=yes]").length > 0`)
		v.want(isLive)
	}
	v.picture("scene")
}

// keepShop fills the namespace like that of a shop.
func (v *visit) keepShop() {
	v.t.Helper()
	v.create("queue", "orders", `{"DeadLetteringOnMessageExpiration":true,"DefaultMessageTimeToLive":"PT1H","LockDuration":"PT5M"}`)
	v.create("queue", "payments", `{"LockDuration":"PT5M"}`)
	v.create("queue", "mail", `{"DefaultMessageTimeToLive":"P1D"}`)
	v.create("queue", "reply-7f3a", `{"AutoDeleteOnIdle":"PT9M"}`)
	v.create("queue", "reply-c40d", `{"AutoDeleteOnIdle":"PT45M"}`)
	v.create("topic", "prices", `{}`)
	v.create("subscription", "prices/subscriptions/web", `{"DefaultMessageTimeToLive":"PT30M","DeadLetteringOnMessageExpiration":true}`)
	v.create("subscription", "prices/subscriptions/audit", `{}`)
	for i, ttl := range []int{1, 1, 45, 52, 70, 95, 118, 130, 150, 170, 200, 240, 280, 330, 400, 520, 610, 700, 900, 1200, 1500, 1900, 2400, 3000, 3600} {
		v.send("orders", fmt.Sprintf(`{"Label":"order.placed","MessageId":"o-%d","TimeToLive":%d,"ContentType":"application/json"}`, 1041+i, ttl),
			fmt.Sprintf(`{"order":%d,"customer":{"id":%d},"lines":[{"sku":"A-%d","quantity":2}],"total":129.9}`, 1041+i, 440+i, 17+i))
	}
	for i := range 9 {
		v.send("payments", fmt.Sprintf(`{"Label":"payment.due","MessageId":"p-%d","TimeToLive":%d}`, 701+i, 48+(i*i+i)*45), "{}")
		v.send("mail", fmt.Sprintf(`{"Label":"mail.welcome","MessageId":"m-%d"}`, 31+i), "Welcome")
		v.send("prices", fmt.Sprintf(`{"Label":"price.changed","MessageId":"x-%d"}`, 8+i), `{"sku":"A-17","price":12.5}`)
	}
	at := time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat)
	v.send("mail", `{"Label":"mail.reminder","ScheduledEnqueueTimeUtc":"`+at+`"}`, "Your parcel is waiting")
	for _, end := range []string{`"dead-letter","reason":"CardDeclined"`, `"defer"`} {
		var taken struct{ Messages []struct{ LockToken string } }
		text := v.server.MustRequest(v.t, 200, "POST", v.server.Dashboard+client.APIPath("receive", "payments"), "", `{"limit":1}`)
		if err := json.Unmarshal([]byte(text), &taken); err != nil || len(taken.Messages) != 1 {
			v.t.Fatal(text, err)
		}
		v.ask("POST", v.server.Dashboard+"/api/v1/settle", "", `{"lockToken":"`+taken.Messages[0].LockToken+`","outcome":`+end+`}`)
	}
	v.visit("/n/default/q/orders?tab=dead-letter")
	v.wantMeanwhile(`Number(`+slot+`("count-dead")) >= 2`, func() { v.visit("/n/default/q/orders?tab=dead-letter") })
	v.ask("POST", v.server.Dashboard+client.APIPath("receive", "orders"), "", `{"mode":"peek-lock","limit":1}`)
}

// outline returns the texts of a page that do not depend on the time.
const outline = `[...new Set([...document.querySelectorAll("nav a, h1, h2, h3, th, .btn, .tabs a, .stage-caption")]
	.filter((el) => el.checkVisibility() && el.getBoundingClientRect().top < innerHeight)
	.map((el) => el.textContent.trim().replace(/\s+/g, " ").replace(/[0-9]+/g, "0")).filter(Boolean))].join("\n") + "\n"`

// picture compares the page with its pictures, or writes them with -update.
func (v *visit) picture(name string) {
	v.t.Helper()
	v.do(chromedp.EmulateViewport(1280, 800))
	const again = "go test ./cmd/mayfly/e2e -run TestBrowser/pictures -update"
	says, words := v.js(outline).(string), filepath.Join(pictures, name+".txt")
	if *update {
		if err := os.WriteFile(words, []byte(says), 0o666); err != nil {
			v.t.Fatal(err)
		}
	} else if want, err := os.ReadFile(words); err != nil {
		v.t.Fatal(err)
	} else if d := cmp.Diff(string(want), says); d != "" {
		v.t.Errorf("the pictures of %s are out of date (- then, + now): %s\n%s", name, again, d)
	}
	for _, theme := range []string{"light", "dark"} {
		if _, err := chromedp.Call(v.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
			v.t.Fatal(err)
		}
		got, err := chromedp.Call(v.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{})
		if err != nil {
			v.t.Fatal(err)
		}
		file := filepath.Join(pictures, name+"-"+theme+".png")
		if *update {
			if err := os.WriteFile(file, got.Data, 0o666); err != nil {
				v.t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			v.t.Fatal(err)
		}
		if d := differ(v.t, got.Data, want); d > 12 {
			v.t.Errorf("the picture %s differs by %.1f from its page: %s", file, d, again)
		}
	}
}

// differ returns the difference of two pictures, from 0 to 255: the greatest mean difference
// of a region, so that countdowns and other fonts do not matter.
func differ(t *testing.T, a, b []byte) float64 {
	t.Helper()
	var shades [2][regions * regions]float64
	for i, file := range [][]byte{a, b} {
		picture, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		shades[i] = shadesOf(picture)
	}
	far := 0.0
	for i := range shades[0] {
		far = max(far, shades[0][i]-shades[1][i], shades[1][i]-shades[0][i])
	}
	return far
}

// regions is the number of regions in each direction.
const regions = 8

// shadesOf returns the brightness of each region of a picture.
func shadesOf(picture image.Image) (shades [regions * regions]float64) {
	var pixels [regions * regions]float64
	size := picture.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() {
			r, g, b, _ := picture.At(size.Min.X+x, size.Min.Y+y).RGBA()
			at := y*regions/size.Dy()*regions + x*regions/size.Dx()
			shades[at] += float64(r+g+b) / 3 / 257
			pixels[at]++
		}
	}
	for i := range shades {
		shades[i] /= pixels[i]
	}
	return shades
}
