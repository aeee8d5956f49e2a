/** The page of a webhook: its log follows the deliveries that are on their way. */

import { failureWords, poll } from "../jobs/poll.js";
import { Announcer } from "../ui/announcer.js";
import { find } from "../ui/dom.js";
import { fillNumbers } from "../ui/page-numbers.js";
import { renewPart } from "../ui/page-part.js";

const EVERY_MILLISECONDS = 2000;

/** @returns {boolean} whether a delivery of this page waits or is being sent */
function waits() {
  return find(document, "[data-part=log]", HTMLElement).dataset.waits !== undefined;
}

fillNumbers(document);
if (waits()) {
  const announcer = new Announcer(find(document, "[data-part=announcer]", HTMLElement));
  const ask = async () => {
    await renewPart("log");
    if (!waits()) {
      announcer.say("All deliveries have ended.", { urgent: true });
    }
    return waits();
  };
  poll(ask, EVERY_MILLISECONDS, (failures, error) => announcer.say(failureWords("webhook", failures, error)));
}
