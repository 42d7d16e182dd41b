package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// receive receives messages, and waits for the first.
func (d *handler) receive(c echo.Context) error {
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
		d.releaseUnsent(r, got)
	}
	return err
}

type receiving struct {
	broker.ReceiveRequest
	numbers []engine.Seq    // of deferred messages, instead of the next available ones
	session *broker.Session // to receive from; nil for no session
}

func (d *handler) receiveFrom(ctx context.Context, in receiving) ([]broker.Received, error) {
	switch s := in.session; {
	case s != nil && len(in.numbers) > 0:
		return s.ReceiveDeferred(ctx, in.numbers, in.Mode)
	case s != nil:
		return s.Receive(ctx, max(1, in.Max), in.Wait)
	case len(in.numbers) > 0:
		return d.broker.ReceiveDeferred(ctx, in.Path, in.numbers, in.Mode, in.Client)
	default:
		return d.broker.Receive(ctx, in.ReceiveRequest)
	}
}

func (d *handler) readReceive(r *http.Request) (out receiving, err error) {
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
	if in.SessionLockToken != "" {
		if out.session, err = d.heldSessions.session(in.SessionLockToken); err != nil {
			return out, err
		}
	}
	if in.Limit != nil {
		out.Max = *in.Limit
	}
	if in.Limit != nil && out.Max < 1 || out.Max > maxReceive || len(in.SequenceNumbers) > maxReceive {
		return out, engine.Refuse(engine.ErrOutOfRange, "The number of messages must be from 1 to %d.", maxReceive)
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
		return 0, engine.Refuse(engine.ErrArgument, "The value for 'mode' must be peek-lock or receive-and-delete, not '%s'.", shorten.Quote(text))
	}
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, never, err := engine.ParseDuration(text)
	if err != nil {
		return 0, engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText("wait", text))
	}
	if never || wait > maxWait {
		return 0, engine.Refuse(engine.ErrOutOfRange, "The value for 'wait' must be a duration up to %v, not '%s'.", maxWait, shorten.Quote(text))
	}
	return wait, nil
}

// presentReceived writes received messages as the answer. It returns an error if the client has
// disconnected, as far as the operating system knows.
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
	switch large := out.Size > maxInlineBody; {
	case large && m.Deleted: // a deleted message cannot be fetched later
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

// releaseUnsent releases the locks of messages that did not reach the client. Messages received in
// receive-and-delete mode are lost.
func (d *handler) releaseUnsent(r *http.Request, got []broker.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), releaseTimeout)
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
		d.log.WarnContext(ctx, "messages were locked for a client that left; they stay locked until their locks expire", "path", got[0].Path, "count", len(all), "err", err)
	}
}
