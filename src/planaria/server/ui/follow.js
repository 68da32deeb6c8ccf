// Following a session: its events as they come, over as many connections as that takes.
import { events } from "./api.js";

const LONGEST_PAUSE = 5000;

/** Call `take(event, data)` for all that happens, and `tell(state)` for "live", "lost" and "gone". */
export function follow(session, take, tell) {
    const ending = new AbortController();
    const work = async () => {
        let pause = 250;
        while (!ending.signal.aborted) {
            try {
                for await (const [name, data] of events(session, ending.signal)) {
                    if (ending.signal.aborted) return;
                    if (name === "gone") { tell("gone"); return; }
                    pause = 250;
                    tell("live");
                    take(name, data);
                }
            } catch (error) {
                if (ending.signal.aborted) return;
                if (error.status === 404) { tell("gone"); return; }
                if (error.status === 401) { tell("locked"); return; }
                if (!error.status) console.warn(error);
            }
            tell("lost");
            await new Promise((resolve) => setTimeout(resolve, pause));
            pause = Math.min(2 * pause, LONGEST_PAUSE);
        }
    };
    work();
    return () => ending.abort();
}
