package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// receive takes messages, waiting for the first.
func (d *door) receive(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := d.readReceive(r)
	if err != nil {
		return err
	}
	in.Path, in.Client = p, client(r)
	got, err := d.receiveFrom(ctx, in)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range got {
			m.Body.Close()
		}
	}()
	if err = context.Cause(ctx); err == nil {
		err = presentReceived(c, got)
	}
	if err != nil {
		d.giveBack(r, got)
	}
	return err
}

type receiving struct {
	broker.Receive
	numbers []engine.Seq    // of deferred messages, instead of the next ones
	session *broker.Session // to receive from; nil: from no session
}

func (d *door) receiveFrom(ctx context.Context, in receiving) ([]broker.Received, error) {
	switch s := in.session; {
	case s != nil && len(in.numbers) > 0:
		return s.Fetch(ctx, in.numbers, in.Mode)
	case s != nil:
		return s.Receive(ctx, max(1, in.Max), in.Wait)
	case len(in.numbers) > 0:
		return d.broker.Fetch(ctx, in.Path, in.numbers, in.Mode, in.Client)
	default:
		return d.broker.Receive(ctx, in.Receive)
	}
}

func (d *door) readReceive(r *http.Request) (out receiving, err error) {
	raw, err := readBody(r, smallBody)
	if err != nil {
		return out, err
	}
	var in Receive
	if err := decode(raw, &in); err != nil {
		return out, err
	}
	if out.Mode, err = parseMode(in.Mode); err != nil {
		return out, err
	}
	if in.Hold != "" {
		if out.session, err = d.holds.session(in.Hold); err != nil {
			return out, err
		}
	}
	if in.Max != nil {
		out.Max = *in.Max
	}
	if in.Max != nil && out.Max < 1 || out.Max > maxReceive || len(in.SequenceNumbers) > maxReceive {
		return out, outOfRange("At most %d messages are received at once, and at least 1.", maxReceive)
	}
	for _, n := range in.SequenceNumbers {
		out.numbers = append(out.numbers, engine.Seq(n))
	}
	out.Wait, err = parseWait(in.Wait)
	return out, err
}

func parseMode(text string) (engine.Mode, error) {
	switch text {
	case "", "peek-lock":
		return engine.PeekLock, nil
	case "receive-and-delete":
		return engine.ReceiveAndDelete, nil
	default:
		return 0, argument("The value for 'mode' is peek-lock or receive-and-delete, not '%s'.", cut(text))
	}
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, never, err := engine.ParseDuration(text)
	if err != nil {
		return 0, argument("%s", engine.WrongDuration("wait", text))
	}
	if never || wait > longestWait {
		return 0, outOfRange("The value for 'wait' is at most %v, not '%s'.", longestWait, cut(text))
	}
	return wait, nil
}

// presentReceived returns once everything has left for the client, as far as
// the system knows.
func presentReceived(c echo.Context, got []broker.Received) error {
	list := beginList(c)
	for _, m := range got {
		out, err := presentMessage(m.Message, m.Content, m.Path, m.Expires)
		if err != nil {
			return err
		}
		if m.Deleted {
			out.LockedUntil = nil
		} else {
			out.LockToken = m.Token().String()
		}
		if err := addReceived(list, out, m); err != nil {
			return err
		}
	}
	return list.end()
}

func addReceived(list *list, out Message, m broker.Received) error {
	switch large := out.Size > largestInline; {
	case large && m.Deleted: // it is now or never
		return list.addStreaming(out, m.Body)
	case large:
		out.BodyOmitted = true
	default:
		if err := out.setBody(m.Body); err != nil {
			return err
		}
	}
	return list.add(out)
}

// giveBack frees messages that nobody got; those that were deleted are gone.
func (d *door) giveBack(r *http.Request, got []broker.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), releasePatience)
	defer cancel()
	var all []engine.Settlement
	for _, m := range got {
		if !m.Deleted {
			all = append(all, engine.Settlement{Token: m.Token(), Outcome: engine.Release, Path: m.Path, Client: client(r)})
		}
	}
	if len(all) == 0 {
		return
	}
	if _, err := d.broker.Settle(ctx, all...); err != nil {
		d.log.WarnContext(ctx, "messages that nobody got stay locked until their locks run out", "path", got[0].Path, "count", len(all), "err", err)
	}
}
