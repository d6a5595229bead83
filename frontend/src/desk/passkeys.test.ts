import { expect, test } from "vitest";
import { readOptions } from "./passkeys";

test("ids and challenges become bytes, host names and kinds stay text", () => {
  const options = readOptions({
    publicKey: {
      challenge: "AQID_-8",
      rp: { id: "maps.example.org", name: "dpgeo" },
      user: { id: "MQ", name: "ann" },
      rpId: "maps.example.org",
      allowCredentials: [{ type: "public-key", id: "_w" }],
      timeout: 1000,
    },
  }) as { [name: string]: never } & { challenge: ArrayBuffer; user: { id: ArrayBuffer }; allowCredentials: { id: ArrayBuffer; type: string }[] };
  expect([...new Uint8Array(options.challenge)]).toEqual([1, 2, 3, 255, 239]);
  expect([...new Uint8Array(options.user.id)]).toEqual([49]);
  expect([...new Uint8Array(options.allowCredentials[0]!.id)]).toEqual([255]);
  expect(options.allowCredentials[0]!.type).toBe("public-key");
  expect(options["rp"]).toEqual({ id: "maps.example.org", name: "dpgeo" });
  expect(options["rpId"]).toBe("maps.example.org");
});
